import { readFileSync } from 'node:fs'
import path from 'node:path'
import { EncodedResponse } from '../cache/encoded-response.ts'
import { preparedFile } from './static-content.ts'

/** Content security policy of the explorer: it loads only its own files, and calls only this gateway. */
const explorerPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A file name changes with the file's contents, so that a cached file is never out of date. */
const immutable = 'public, max-age=31536000, immutable'

/** Names of the files of the bundle, from its manifest.json. */
interface Bundle {
  readonly script: string
  readonly style: string
  readonly files: readonly string[]
}

/** Functions that return the explorer's page, and its files by path. */
export interface ExplorerContents {
  readonly page: () => Promise<EncodedResponse>
  readonly assets: ReadonlyMap<string, () => Promise<EncodedResponse>>
}

/**
 * Returns the contents of the explorer. Only the names of its files are read here; a file is read when it is requested.
 * @param folder of the bundle
 * @param isOpen whether data needs no API key
 */
export function explorerContents(folder: string, isOpen: boolean): ExplorerContents {
  const bundle = JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8')) as Bundle
  const page = pageOf(bundle, isOpen)
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': explorerPolicy,
    'referrer-policy': 'no-referrer',
    vary: 'accept',
  }
  let made: EncodedResponse | undefined
  return {
    page: () => Promise.resolve((made ??= new EncodedResponse({ status: 200, headers, body: page }))),
    assets: new Map(
      bundle.files.map((name) => [`/explorer/${name}`, () => preparedFile(path.join(folder, name), immutable)]),
    ),
  }
}

/** Returns the HTML page. Its links are relative: a proxy may serve the gateway under a path prefix. */
function pageOf({ script, style }: Bundle, isOpen: boolean): string {
  return `<!doctype html>
<html lang="en"${isOpen ? '' : ' data-api-key="required"'}>
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Vaults – vault-gateway</title>
    <link rel="icon" href="data:,">
    <link rel="service-desc" type="application/json" href="openapi.json">
    <link rel="stylesheet" href="explorer/${style}">
    <script type="module" src="explorer/${script}"></script>
  </head>
  <body>
    <noscript>
      <p>The explorer needs JavaScript. Without it: <a href="docs">the API documentation</a>.</p>
    </noscript>
    <div id="app"><p>Loading…</p></div>
  </body>
</html>
`
}
