import type { Browser } from 'playwright-core'
import { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { DatabaseUnavailable } from '../../src/database/errors.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { inputSource } from '../../src/feed/reading/source.ts'
import type { AppOptions } from '../../src/http/app.ts'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { emptyDatabase, readingBy, type TestDatabase } from '../support/database.ts'
import { pageFolders, openExplorer } from '../support/explorer.ts'
import { liveGateway, type LiveGateway } from '../support/live.ts'
import { addressOf, apply, deposit, mark, midnight, opened, strategy } from '../support/world.ts'

const vault = addressOf(1)
const apiKey = 'a-key-of-this-test'

describe.skipIf(noBrowser !== null)('the explorer', () => {
  let browser: Browser
  let database: TestDatabase
  let gateway: LiveGateway
  let now = midnight

  beforeAll(async () => {
    database = await emptyDatabase()
    const facts = [strategy('calm'), opened(vault, 'calm', ++now), deposit(vault, ++now, '100')]
    const lines = facts.map((fact) => `${JSON.stringify(fact)}\n`)
    const source = { ...inputSource(Readable.from([Buffer.from(lines.join(''))])), name: '/feeds/calm.ndjson' }
    await ingest({ database, source })
    browser = await openBrowser()
  })
  afterAll(() => browser.close())
  afterEach(() => gateway.close())

  async function gatewayWith(options: Partial<AppOptions>, port = 0, over = database): Promise<LiveGateway> {
    gateway = await liveGateway(over, { pageFolders: await pageFolders(), ...options }, port)
    return gateway
  }

  test('prompts for an API key if the gateway needs one, and discards it with the page', async () => {
    const { server } = await gatewayWith({ apiKeys: [apiKey] })
    const { page, closeFaultless } = await openExplorer(browser, server.origin, `?vault=${vault}`)
    await page.getByRole('heading', { level: 1, name: 'API key' }).waitFor()
    await page.getByRole('textbox', { name: 'API key' }).fill(apiKey)
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Figures' }).getByText('$100.00').first().waitFor()
    await apply(database, [mark(vault, ++now, '150.5')])
    await page.getByRole('region', { name: 'Figures' }).getByText('$150.50').first().waitFor()
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state])',
    )
    expect(kept).not.toContain(apiKey)
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'API key' }).waitFor()
    await closeFaultless()
  })

  test('prompts again after a key that is not accepted', async () => {
    const { server } = await gatewayWith({ apiKeys: [apiKey] })
    // The browser itself logs the refusal to the console.
    const { page } = await openExplorer(browser, server.origin)
    await page.getByRole('textbox', { name: 'API key' }).fill('another-key-of-this-test')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'does not accept this key' }).waitFor()
    await page.getByRole('textbox', { name: 'API key' }).fill(apiKey)
    await page.keyboard.press('Enter')
    await page.getByText('1 vault', { exact: true }).waitFor()
    await page.close()
  })

  test('reports a key with characters that no header may have, and prompts for another', async () => {
    const { server } = await gatewayWith({ apiKeys: [apiKey] })
    const { page, closeFaultless } = await openExplorer(browser, server.origin)
    await page.getByRole('textbox', { name: 'API key' }).fill('a-key–of-this-test')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'no API key' }).waitFor()
    await page.getByRole('textbox', { name: 'API key' }).fill(apiKey)
    await page.keyboard.press('Enter')
    await page.getByText('1 vault', { exact: true }).waitFor()
    await closeFaultless()
  })

  test('shows that the gateway is unreachable, and continues when it is back', async () => {
    const { server } = await gatewayWith({})
    // The browser itself logs failed requests to the console.
    const { page } = await openExplorer(browser, server.origin, `?vault=${vault}`)
    const value = page.getByRole('region', { name: 'Figures' }).locator('data').first()
    await value.waitFor()
    const down = page.getByRole('status').filter({ hasText: 'The gateway does not answer' })
    expect(await down.count()).toBe(0)
    const { port } = server
    await gateway.close()
    await down.waitFor()
    const valueUsd = `${(now += 1) % 100_000}.25`
    await apply(database, [mark(vault, now, valueUsd)])
    await gatewayWith({}, port)
    await expect.poll(() => value.getAttribute('value'), { timeout: 30_000 }).toBe(valueUsd)
    await down.waitFor({ state: 'detached' })
    const next = `${(now += 1) % 100_000}.75`
    await apply(database, [mark(vault, now, next)])
    await expect.poll(() => value.getAttribute('value'), { timeout: 30_000 }).toBe(next)
    await page.close()
  })

  test('shows that the database is unavailable, keeps its data, and continues when the database is back', async () => {
    let isAway = false
    const unsteady = readingBy(database, (statement, values, signal, reader) =>
      isAway ? Promise.reject(new DatabaseUnavailable('away')) : reader.read(statement, values, signal),
    )
    const { server, listener } = await gatewayWith({}, 0, unsteady)
    // The browser itself logs responses with status 503 to the console.
    const { page } = await openExplorer(browser, server.origin, `?vault=${vault}`)
    const value = page.getByRole('region', { name: 'Figures' }).locator('data').first()
    const before = await value.getAttribute('value')
    const notice = page.getByRole('status').filter({ hasText: 'The database does not answer now.' })
    expect(await notice.count()).toBe(0)
    const refused = page.waitForResponse((response) => response.status() === 503)
    isAway = true
    listener.listening(false)
    await refused
    await notice.waitFor()
    expect(await notice.textContent()).toContain('These figures may be out of date.')
    expect(await value.getAttribute('value')).toBe(before)
    const valueUsd = `${(now += 1) % 100_000}.125`
    await apply(database, [mark(vault, now, valueUsd)])
    isAway = false
    listener.listening(true)
    await expect.poll(() => value.getAttribute('value'), { timeout: 30_000 }).toBe(valueUsd)
    await notice.waitFor({ state: 'detached' })
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
    await page.close()
  })

  test('polls its data if it gets no stream', async () => {
    const { server } = await gatewayWith({})
    // The browser itself logs responses with status 429 to the console.
    const page = await browser.newPage({ locale: 'en-US' })
    let refusals = 0
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('subscription ') !== true) return route.continue()
      refusals++
      await route.fulfill({ status: 429, headers: { 'retry-after': '60' }, body: '' })
    })
    await page.goto(`${server.origin}/?vault=${vault}`)
    const value = page.getByRole('region', { name: 'Figures' }).locator('data').first()
    for (const cents of ['0.375', '0.625']) {
      await value.waitFor()
      const valueUsd = `${(now += 1) % 100_000}${cents.slice(1)}`
      await apply(database, [mark(vault, now, valueUsd)])
      await expect.poll(() => value.getAttribute('value'), { timeout: 20_000 }).toBe(valueUsd)
    }
    expect(refusals).toBeGreaterThan(0)
    const figures = (): Promise<unknown> =>
      page.waitForRequest((request) => request.postData()?.includes('query VaultFigures') === true, { timeout: 7_000 })
    await expect(figures()).rejects.toThrow('Timeout')
    await page.close()
  })

  test("shows the current returns of a vault's strategy", async () => {
    const { server } = await gatewayWith({})
    const { page, closeFaultless } = await openExplorer(browser, server.origin, `?vault=${vault}`)
    const name = page.getByRole('region', { name: 'Figures' }).getByRole('link', { name: /^The / })
    await name.waitFor()
    await expect.poll(() => server.running()).toBe(1)
    const words = { tagline: 'calm in a line', description: 'calm' }
    await apply(database, [{ kind: 'strategy', ts: ++now, id: 'calm', name: 'The calmer', ...words }])
    await expect.poll(() => name.textContent(), { timeout: 20_000 }).toBe('The calmer')
    await closeFaultless()
  })

  test('shows the age of the data, and that a feed has stopped or waits', async () => {
    let condition = ''
    const { server } = await gatewayWith({
      feeds: () => ({
        stopped: condition === 'stopped' ? ['/feeds/calm.ndjson'] : [],
        waiting: condition === 'waiting' ? ['/feeds/calm.ndjson'] : [],
        setAside: [],
      }),
    })
    const { page, closeFaultless } = await openExplorer(browser, server.origin)
    await page.getByText(/^Newest fact [\d,]+ days ago$/).waitFor()
    for (const [given, text] of [
      ['stopped', 'The feed calm.ndjson has stopped.'],
      ['waiting', 'The feed calm.ndjson waits for its source.'],
    ] as const) {
      condition = given
      await page.getByRole('status').filter({ hasText: text }).waitFor()
    }
    await closeFaultless()
  })

  test('shows that it connects, and that data is loading, while a slow network delays it', async () => {
    const { server } = await gatewayWith({})
    const page = await browser.newPage({ locale: 'en-US' })
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/graphql', async (route) => {
      await held
      await route.continue()
    })
    let loadScript = (): void => undefined
    const scriptHeld = new Promise<void>((resolve) => (loadScript = resolve))
    await page.route('**/explorer/explorer-*.js', async (route) => {
      await scriptHeld
      await route.continue()
    })
    await page.goto(`${server.origin}/?vault=${vault}`, { waitUntil: 'commit' })
    await page.getByText('Loading…', { exact: true }).waitFor()
    expect(await page.getByRole('heading').count()).toBe(0)
    loadScript()
    await page.getByText('Connecting…', { exact: true }).waitFor()
    await page.getByRole('status').filter({ hasText: 'Loading…' }).waitFor()
    expect(await page.getByText('No facts yet').count()).toBe(0)
    release()
    await page.getByText(/^Newest fact [\d,]+ days ago$/).waitFor()
    await page.getByRole('region', { name: 'Figures' }).locator('data').first().waitFor()
    await page.close()
  })

  test('shows that an unknown vault does not exist, and the count of an empty list', async () => {
    const { server } = await gatewayWith({})
    const { page, closeFaultless } = await openExplorer(browser, server.origin, `?vault=${addressOf(77)}`)
    await page.getByRole('alert').filter({ hasText: 'No vault is known at this address.' }).waitFor()
    await page.goto(`${server.origin}/?status=exiting`)
    await page.getByText('0 vaults').waitFor()
    await closeFaultless()
  })

  test('has no open stream while the page is hidden', async () => {
    const { server } = await gatewayWith({})
    const { page, closeFaultless } = await openExplorer(browser, server.origin)
    await expect.poll(() => server.running()).toBe(1)
    const show = (state: string): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${state}' });
        document.dispatchEvent(new Event('visibilitychange'))`,
      )
    await show('hidden')
    await expect.poll(() => server.running()).toBe(0)
    await show('visible')
    await expect.poll(() => server.running()).toBe(1)
    await closeFaultless()
  })
})
