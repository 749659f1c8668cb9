import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { openapi } from '../../rest/openapi/document.ts'
import { EncodedResponse } from '../cache/encoded-response.ts'

const { resolve } = createRequire(import.meta.url)

/** Content security policy of Swagger UI, which embeds images in its style sheet and loads nothing from other hosts. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>vault-gateway: the six paths</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <script defer src="docs/swagger-ui-bundle.js"></script>
    <script defer src="docs/start.js"></script>
  </head>
  <body>
    <div id="docs"></div>
  </body>
</html>
`

// Swagger UI has dark styles, but only for an element with this class. No validator: it would be loaded from another host.
const start = `const dark = matchMedia('(prefers-color-scheme: dark)')
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followSystem)
followSystem()
SwaggerUIBundle({ url: 'openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null })
`

const contract = JSON.stringify(openapi)

/** The contract of the REST paths and its documentation page, by path. */
export const apiDocsContents: ReadonlyMap<string, () => Promise<EncodedResponse>> = new Map([
  ['/openapi.json', () => served('application/json', contract)],
  ['/docs', () => served('text/html', page, { 'content-security-policy': policy })],
  ['/docs/start.js', () => served('text/javascript', start)],
  ['/docs/swagger-ui-bundle.js', async () => served('text/javascript', await asset('swagger-ui-bundle.js'))],
  ['/docs/swagger-ui.css', async () => served('text/css', await asset('swagger-ui.css'))],
])

function served(
  type: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<EncodedResponse> {
  const ofType = { 'content-type': `${type}; charset=utf-8`, ...headers }
  return Promise.resolve(new EncodedResponse({ status: 200, headers: ofType, body }))
}

function asset(name: string): Promise<Buffer> {
  return readFile(resolve(`swagger-ui-dist/${name}`))
}
