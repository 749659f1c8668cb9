import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { everything } from '../../support/everything.ts'
import { noBrowser, openBrowser } from '../../support/browser.ts'
import { empty, emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { failing, hanging, problemOf } from '../../support/problem.ts'
import { rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { apply } from '../../support/world.ts'
import { routes } from '../../../src/rest/routes.ts'

const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const linksetType = 'application/linkset+json'
const jsonType = 'application/json; charset=utf-8'
const htmlType = 'text/html; charset=utf-8'
const templates = routes.map(({ path }) => path)

let database: TestDatabase
let gateway: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  gateway = gatewayOn(database)
})

function root(accept?: string, { get } = gateway, init: RequestInit = {}): Promise<Response> {
  return get('/', { ...init, headers: { ...(accept === undefined ? {} : { accept }), ...init.headers } })
}

interface Target {
  readonly href: string
  readonly type: string
  readonly title: string
}

/** Returns the links of the link set by their relation. */
async function linksOf(response: Response): Promise<Record<string, Target[]>> {
  const { linkset } = (await response.json()) as { linkset: { anchor: string }[] }
  expect(linkset).toHaveLength(1)
  const [{ anchor, ...targets } = { anchor: '' }] = linkset
  expect(anchor).toBe('./')
  return targets
}

function hrefs(links: Record<string, Target[]>): string[] {
  return Object.values(links).flatMap((targets) => targets.map(({ href }) => href))
}

describe('the root', () => {
  test('is not refused by a rate limit', async () => {
    const { get } = gatewayOn(database, { rateLimit: { requests: 1, seconds: 3_600 } })
    for (const accept of [browserAccept, undefined, linksetType])
      expect((await root(accept, { ...gateway, get })).status).toBe(200)
    expect([(await get('/strategies')).status, (await get('/strategies')).status]).toEqual([200, 429])
  })

  test.each([
    [undefined, jsonType],
    ['*/*', jsonType],
    ['image/png', jsonType],
    ['application/json', jsonType],
    ['application/json, text/plain, */*', jsonType],
    [linksetType, linksetType],
    [`${linksetType}, application/json`, linksetType],
    [`${linksetType};q=0.5, application/json`, jsonType],
    [browserAccept, htmlType],
    ['application/json, text/html;q=0.5', jsonType],
    ['text/html;q=0', jsonType],
  ])('is answered to a client that accepts %s as %s', async (accept, type) => {
    const response = await root(accept)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
    expect(response.headers.get('vary')?.split(', ')).toContain('accept')
  })

  test('has one link set in both JSON types, and an ETag for each type', async () => {
    const [linkset, json, html] = [await root(linksetType), await root(), await root('text/html')]
    expect(await linkset.text()).toBe(await json.text())
    const tags = [linkset, json, html].map(({ headers }) => headers.get('etag') ?? '')
    expect(new Set(tags).size).toBe(3)
    for (const tag of tags) expect(tag).toMatch(/^"[^"]+"$/)
    const accepts = [linksetType, 'application/json', 'text/html']
    for (const [index, accept] of accepts.entries()) {
      const statuses = tags.map(async (tag) => {
        const { status, headers } = await root(accept, gateway, { headers: { 'if-none-match': tag } })
        if (status === 304) expect([headers.get('etag'), headers.get('vary')]).toEqual([tag, 'accept, accept-encoding'])
        return status
      })
      expect(await Promise.all(statuses)).toEqual(tags.map((_tag, of) => (of === index ? 304 : 200)))
    }
  })

  test('has the same head without a body for HEAD', async () => {
    for (const accept of ['application/json', linksetType, 'text/html']) {
      const [get, head] = [await root(accept), await root(accept, gateway, { method: 'HEAD' })]
      const headersOf = ({ headers }: Response): object => ({ ...Object.fromEntries(headers), 'x-request-id': '' })
      expect([head.status, headersOf(head), await head.text()]).toEqual([200, headersOf(get), ''])
    }
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('refuses %s, and says which methods it has', async (method) => {
    const refused = await root('text/html', gateway, { method })
    expect(refused.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect(await problemOf(refused, 405)).toMatchObject({ type: 'urn:vault-gateway:problem:method-not-allowed' })
    expect((await root(undefined, gateway, { method: 'OPTIONS' })).headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  })

  test('links to the documentation, the probes and the six paths, all of which answer', async () => {
    const links = await linksOf(await root())
    expect(Object.keys(links).sort()).toEqual(['item', 'service-desc', 'service-doc', 'status'])
    expect(hrefs(links)).toEqual(expect.arrayContaining(['graphql', 'docs', 'openapi.json', 'health', 'ready']))
    const items = links['item']?.map(({ href }) => `/${href}`) ?? []
    const matching = templates.filter((path) => items.some((item) => item.replace(/0x\w{40}/, ':address') === path))
    expect(matching).toEqual(templates)
    for (const { href, type, title } of Object.values(links).flat()) {
      expect(title).not.toBe('')
      const query = type.includes('graphql') ? '?query={__typename}' : ''
      const { pathname } = new URL(href, 'http://gateway.test/')
      const answer = await gateway.get(pathname + query, { headers: { accept: type } })
      expect([href, answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([href, 200, type])
    }
  })

  test('reads an address from the database at most once a second for all requests', async () => {
    const { get } = gatewayOn(database)
    database.takeStatements()
    const begun = performance.now()
    await Promise.all(Array.from({ length: 50 }, () => root(undefined, { ...gateway, get })))
    for (let count = 0; count < 50; count++) await root('text/html', { ...gateway, get })
    const seconds = (performance.now() - begun) / 1_000
    const { length } = database.takeStatements()
    expect(length).toBeGreaterThan(0)
    expect(length).toBeLessThanOrEqual(1 + Math.floor(seconds))
  })
})

describe('without an example address', () => {
  const withoutAddress = async (given: TestGateway, words: RegExp): Promise<void> => {
    const links = await linksOf(await root(undefined, given))
    expect(hrefs(links).filter((href) => href.startsWith('vault/'))).toEqual([])
    expect(hrefs(links)).toEqual(expect.arrayContaining(['graphql', 'strategies', 'universe', 'universe/pairs']))
    const page = await (await root('text/html', given)).text()
    for (const path of templates) expect(page).toContain(`<code>${path}</code>`)
    expect(page).toMatch(words)
    expect(page).not.toMatch(/0x\w{40}|href="vault/)
  }

  test('in an empty database, the page says so until a vault is there', async () => {
    await empty(database)
    const gateway = gatewayOn(database)
    await withoutAddress(gateway, /No vault is known now/)
    await apply(database, everything)
    await expect
      .poll(async () => hrefs(await linksOf(await root(undefined, gateway))))
      .toContainEqual(expect.stringMatching(/^vault\/0x\w{40}\/snapshot$/))
  })

  test.each([
    ['fails', () => failing(database), 1],
    ['does not answer', () => hanging(database), 0],
  ])('since the database %s, it is answered all the same', async (_, made, reports) => {
    const gateway = gatewayOn(made())
    await withoutAddress(gateway, /No vault is known now/)
    expect(gateway.reported.length).toBeGreaterThanOrEqual(reports)
  })

  test('since data needs a key, none is read or shown, and no link leads to a refusal', async () => {
    database.takeStatements()
    const gateway = gatewayOn(database, { apiKeys: ['a-key-of-this-test'] })
    await withoutAddress(gateway, /need an API key/)
    expect(database.takeStatements()).toEqual([])
    const page = await (await root('text/html', gateway)).text()
    const linked = Array.from(page.matchAll(/<a href="([^"]+)"/g), ([, href = '']) => href)
    expect(linked.length).toBeGreaterThan(3)
    for (const href of linked) {
      expect((await gateway.get(`/${href}`, { headers: { accept: browserAccept } })).status).toBe(200)
    }
  })
})

test('the page has no script, loads nothing, and cannot be framed', async () => {
  const response = await root(browserAccept)
  const policy = response.headers.get('content-security-policy')?.split('; ') ?? []
  expect(policy[0]).toBe("default-src 'none'")
  expect(policy).toContain("frame-ancestors 'none'")
  const sources = policy.flatMap((directive) => directive.split(' ').slice(1))
  expect(sources.filter((source) => !/^('none'|'sha256-[\w+/]{43}='|data:)$/.test(source))).toEqual([])
  const page = await response.text()
  expect(page).not.toMatch(/<script|https?:|src=| style=/)
  expect(Buffer.byteLength(page)).toBeLessThan(8_000)
})

describe('by a socket', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await serverOf(gateway.app)
  })
  afterAll(() => server.close())

  test.each(['/', '/?a=1', 'http://gateway.test'])('the root is asked for as %s', async (target) => {
    const connection = await rawConnection(server.port)
    connection.send(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 200 .*"linkset"/s)
  })

  test('HEAD has no body, and a method that Node does not know is refused', async () => {
    const connection = await rawConnection(server.port)
    connection.send('HEAD / HTTP/1.1\r\nHost: x\r\n\r\nFOO / HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(await connection.closed).toMatch(
      /^HTTP\/1\.1 200 [^{]*\r\n\r\nHTTP\/1\.1 405 .*^allow: GET, HEAD, OPTIONS\r$/ims,
    )
  })
})

if (noBrowser !== null) console.warn(`The root is not opened in a browser: ${noBrowser}`)

describe.skipIf(noBrowser !== null)('the page in a browser', () => {
  let server: TestServer
  let browser: Browser
  let page: Page
  let wrong: string[]

  beforeAll(async () => {
    server = await serverOf(gateway.app)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await server.close()
  })

  async function open(colorScheme: 'light' | 'dark', width = 1_280): Promise<void> {
    page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
    wrong = []
    page.on('request', (request) => {
      if (request.url() !== `${server.origin}/` && !request.url().startsWith('data:')) wrong.push(request.url())
    })
    page.on('console', (message) => wrong.push(message.text()))
    page.on('pageerror', (error) => wrong.push(error.message))
    await page.goto(server.origin)
  }

  test.each(['light', 'dark'] as const)(
    'is readable in %s, loads nothing else and violates no rule',
    async (scheme) => {
      await open(scheme)
      const colours = await page.evaluate<string[]>(
        `[...document.querySelectorAll('h1, h2, p, a, span, code')].map((element) => getComputedStyle(element).color)`,
      )
      const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      expect(luminance(background) > 0.5).toBe(scheme === 'light')
      expect(colours.length).toBeGreaterThan(15)
      // WCAG 2.2, criterion 1.4.3.
      for (const colour of colours) expect(contrast(colour, background)).toBeGreaterThanOrEqual(4.5)
      expect(wrong).toEqual([])
      await page.close()
    },
  )

  test('has a language, a title, one first heading, named regions and links, and no sideways scrolling', async () => {
    await open('light', 320)
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    expect(await page.title()).toBe('vault-gateway')
    expect(await page.getByRole('heading', { level: 1 }).allTextContents()).toEqual(['vault-gateway'])
    for (const name of ['Explore', 'REST paths', 'Probes']) {
      expect(await page.getByRole('navigation', { name }).getByRole('link').count()).toBeGreaterThan(1)
    }
    const names = await page.getByRole('link').allTextContents()
    expect(names.filter((name) => name.trim() === '')).toEqual([])
    expect(new Set(names).size).toBe(names.length)
    expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true)
    await page.close()
  })

  test('has no broken link', async () => {
    await open('light')
    const links = await page.evaluate<string[]>('Array.from(document.links, ({ href }) => href)')
    expect(links).toHaveLength(templates.length + 5)
    const headers = { accept: browserAccept }
    for (const link of links) expect([link, (await page.request.get(link, { headers })).status()]).toEqual([link, 200])
    await page.close()
  })
})

/** @see https://www.w3.org/TR/WCAG22/#dfn-relative-luminance */
function luminance(colour: string): number {
  const channels = Array.from(colour.matchAll(/\d+/g), ([digits]) => Number(digits) / 255)
  const [red = 0, green = 0, blue = 0] = channels.map((value) =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  )
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(first: string, second: string): number {
  const [darker = 0, lighter = 0] = [luminance(first), luminance(second)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}
