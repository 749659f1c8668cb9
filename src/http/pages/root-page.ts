import { hash } from 'node:crypto'
import { documentationLinks, linkedPaths, type LinkedPath, type RootLink, statusLinks } from './root-links.ts'

const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --faint: #57606a; --paper: #ffffff; --link: #0550ae }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --faint: #9ba7b4; --paper: #0d1117; --link: #79b8ff }
}
body { margin: 0; color: var(--ink); background: var(--paper); font: 1rem/1.5 system-ui, sans-serif }
main { max-width: 48rem; margin: 0 auto; padding: 2rem 1rem }
h1 { margin: 0; font-size: 1.75rem }
h2 { margin: 2rem 0 0.5rem; font-size: 1.125rem }
ul { margin: 0; padding: 0; list-style: none }
li { padding: 0.25rem 0 }
p { margin: 0.5rem 0 }
code { font: 0.875rem ui-monospace, monospace; overflow-wrap: anywhere }
span { display: block; color: var(--faint) }
a { color: var(--link) }
a:focus-visible { outline: 2px solid; outline-offset: 2px }
`

/** Content security policy that allows only the page's own style sheet, by its digest. */
export const rootPagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export interface RootPageOptions {
  /** Address of an existing vault, for links to its paths; null if none is known. */
  readonly address: string | null
  /** Whether data needs no API key. Otherwise links are omitted: a browser sends no key. */
  readonly isOpen: boolean
}

/** Returns the HTML page of the gateway's root. */
export function rootPage({ address, isOpen }: RootPageOptions): string {
  const paths = linkedPaths(address).map((path) => (isOpen ? path : { ...path, link: null }))
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>vault-gateway</title>
    <link rel="icon" href="data:,">
    <link rel="service-desc" type="application/json" href="openapi.json">
    <style>${style}</style>
  </head>
  <body>
    <main>
      <h1>vault-gateway</h1>
      <p>Vault analytics and strategy catalogue: a read-only GraphQL and REST API for capital vaults.</p>
      ${section('Explore', documentationLinks.map(linkItem))}
      ${section('REST paths', paths.map(pathItem), noteOn({ address, isOpen }))}
      ${section('Probes', statusLinks.map(linkItem))}
    </main>
  </body>
</html>
`
}

function noteOn({ address, isOpen }: RootPageOptions): string {
  if (!isOpen) return 'Requests for data need an API key, in the header <code>Authorization: Bearer</code>.'
  if (address !== null) return ''
  return 'No vault is known now: the database is empty, or does not answer. Put an address in place of <code>:address</code>.'
}

function section(heading: string, items: readonly string[], note = ''): string {
  const id = heading.toLowerCase().replaceAll(' ', '-')
  return `<nav aria-labelledby="${id}">
        <h2 id="${id}">${heading}</h2>
        ${note === '' ? '' : `<p>${note}</p>`}
        <ul>
          ${items.join('\n          ')}
        </ul>
      </nav>`
}

function linkItem({ href, title }: RootLink): string {
  return `<li><a href="${escaped(href)}">${escaped(title)}</a></li>`
}

function pathItem({ path, title, link }: LinkedPath): string {
  const code = `<code>${escaped(path)}</code>`
  const shown = link === null ? code : `<a href="${escaped(link.href)}">${code}</a>`
  return `<li>${shown} <span>${escaped(title)}</span></li>`
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? '')
}
