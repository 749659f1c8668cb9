import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { liveEvents, liveVaults } from '../../../src/rest/live-routes.ts'
import { routes } from '../../../src/rest/routes.ts'
import { noBrowser, openBrowser } from '../../support/browser.ts'
import { emptyDatabase } from '../../support/database.ts'
import { everything } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { apply } from '../../support/world.ts'

let gateway: TestGateway

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, everything)
  gateway = gatewayOn(database)
})

describe('the page of the contract', () => {
  test.each([
    ['/docs', 'text/html; charset=utf-8'],
    ['/docs/start.js', 'text/javascript; charset=utf-8'],
    ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
    ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
  ])('%s is served as %s, and held by its ETag', async (path, type) => {
    const response = await gateway.get(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
    const etag = response.headers.get('etag') ?? ''
    expect((await gateway.get(path, { headers: { 'if-none-match': etag } })).status).toBe(304)
    const refused = await gateway.get(path, { method: 'POST' })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  test('has a policy that allows loading from its own server only', async () => {
    const policy = (await gateway.get('/docs')).headers.get('content-security-policy') ?? ''
    const sources = policy.split('; ').flatMap((directive) => directive.split(' ').slice(1))
    expect([...new Set(sources)].sort()).toEqual(["'none'", "'self'", 'data:'])
    expect(policy.split('; ')[0]).toBe("default-src 'none'")
  })

  test.each(['/docs/', '/docs/swagger-ui.js', '/docs/package.json', '/docs/..%2Fpackage.json', '/openapi.yaml'])(
    'is not all that its package holds: %s',
    async (path) => {
      expect((await gateway.get(path)).status).toBe(404)
    },
  )
})

if (noBrowser !== null) console.warn(`The page of the contract is not opened in a browser: ${noBrowser}`)

describe.skipIf(noBrowser !== null)('the page of the contract in a browser', () => {
  let server: TestServer
  let browser: Browser
  let page: Page
  const requested: string[] = []
  const wrong: string[] = []

  beforeAll(async () => {
    server = await serverOf(gateway.app)
    browser = await openBrowser()
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'dark' })
    page.on('request', (request) => requested.push(request.url()))
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error') wrong.push(message.text())
    })
    await page.goto(`${server.origin}/docs`)
    await page
      .locator('.opblock-summary-path')
      .nth(routes.length + 1)
      .waitFor()
  })

  afterAll(async () => {
    await browser.close()
    await server.close()
  })

  test('is dark where the system is, and follows it', async () => {
    const path = page.locator('.opblock-summary-path').first()
    /** Returns the sum of red, green and blue of the text. */
    const brightness = (): Promise<number> =>
      path.evaluate((element) => {
        const parts = getComputedStyle(element).color.match(/\d+/g) ?? []
        return parts.slice(0, 3).reduce((sum, part) => sum + Number(part), 0)
      })
    expect(await brightness()).toBeGreaterThan(600)
    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(brightness).toBeLessThan(300)
  })

  test('shows the paths, runs one, and sends requests to no other host', async () => {
    // The text has places to break a line.
    const summaries = await page.locator('.opblock-summary-path').allTextContents()
    const shown = summaries.map((summary) => summary.replaceAll('\u200b', ''))
    const documented = routes.map(({ path }) => path.replace(':address', '{address}'))
    expect(shown).toEqual([...documented, liveVaults.path, liveEvents.path])

    await page.locator('.opblock-summary-path[data-path="/universe/pairs"]').click()
    await page.locator('.try-out__btn').click()
    await page.locator('.execute').click()
    const answer = page.locator('.live-responses-table .response-col_description .highlight-code').first()
    await answer.waitFor()
    expect(await answer.textContent()).toContain('"tvlUsd": 70.25')

    const elsewhere = requested.filter((url) => !url.startsWith(`${server.origin}/`) && !url.startsWith('data:'))
    expect({ elsewhere, wrong }).toEqual({ elsewhere: [], wrong: [] })
    expect(requested).toEqual(
      expect.arrayContaining([`${server.origin}/openapi.json`, `${server.origin}/universe/pairs`]),
    )
  })
})
