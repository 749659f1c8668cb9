import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { openExplorer, pageFolders } from '../support/explorer.ts'
import { liveGateway, type LiveGateway } from '../support/live.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, strategy } from '../support/world.ts'

const vault = addressOf(1)
const day = 86_400
const newest = midnight + 20 * day

describe.skipIf(noBrowser !== null)('the equity chart', () => {
  let browser: Browser
  let database: TestDatabase
  let gateway: LiveGateway

  beforeAll(async () => {
    database = await emptyDatabase()
    const marks = Array.from({ length: 20 }, (_, index) =>
      mark(vault, midnight + (index + 1) * day, `${12_345_678_901_234 + 1_000 * (index % 7)}.5`),
    )
    await apply(database, [
      ...[strategy('calm'), opened(vault, 'calm'), deposit(vault, midnight + 1, '12345678901234')],
      ...marks,
      event(vault, newest + 1, {
        type: 'withdraw',
        amountUsd: '5',
        valueBeforeUsd: '12345678901235',
        prices: { USDC: '1' },
      }),
    ])
    gateway = await liveGateway(database, { pageFolders: await pageFolders() })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await gateway.close()
  })

  async function open(query = '') {
    const opened = await openExplorer(browser, gateway.server.origin, `?vault=${vault}${query}`)
    await opened.page.getByRole('region', { name: 'Ledger' }).getByText('2 rows').waitFor()
    return opened
  }
  const windowButton = (page: Page, pressed: boolean) => page.getByRole('button', { name: '7 days', pressed })

  test('aligns the times of both plots, however wide their amounts are', async () => {
    const { page, closeFaultless } = await open()
    const places = () =>
      page
        .locator('.chart .u-over')
        .evaluateAll((plots) => plots.map((plot) => [plot.getBoundingClientRect().left, plot.clientWidth]))
    await expect.poll(async () => (await places()).length).toBe(2)
    await expect.poll(async () => Math.min(...(await places()).map(([left = 0]) => left))).toBeGreaterThan(140)
    const [values, gains] = await places()
    expect(values).toEqual(gains)
    await closeFaultless()
  })

  test('shows the values of the point under the pointer, and marks of deposits and withdrawals', async () => {
    const { page, closeFaultless } = await open()
    const caption = page.locator('figcaption')
    await expect.poll(() => caption.textContent()).toBe('Drag over the chart to zoom in. ▲ deposit, ▼ withdrawal.')
    const plot = page.locator('.chart .u-over').first()
    await plot.scrollIntoViewIfNeeded()
    await plot.hover({ position: { x: 5, y: 40 } })
    await expect.poll(() => caption.textContent()).toMatch(/: value \$12,345,678,901,234\.00, gain \$0\.00/)
    await closeFaultless()
  })

  test('shows that a window has no equity, with a link to all of it', async () => {
    const { page, closeFaultless } = await open('&since=5&until=9')
    const panel = page.getByRole('region', { name: 'Equity' })
    await panel.getByText('No equity is recorded in this window.').waitFor()
    expect(await page.locator('.chart').count()).toBe(0)
    await page.getByRole('button', { name: 'All' }).click()
    await panel.getByRole('img', { name: /^Equity from .* deposits: 1, withdrawals: 1$/ }).waitFor()
    await closeFaultless()
  })

  test('shows that it counts the newest deposits only, if there are more', async () => {
    const other = addressOf(2)
    await apply(database, [
      opened(other, 'calm'),
      ...Array.from({ length: 101 }, (_, index) => deposit(other, midnight + 60 * (index + 1), '10')),
    ])
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${other}`)
    await page.getByRole('img', { name: /; of the newest 100 flows: deposits: 100, withdrawals: 0$/ }).waitFor()
    await closeFaultless()
  })

  test('shows a single point within the day around it', async () => {
    const other = addressOf(3)
    const at = midnight + day
    await apply(database, [opened(other, 'calm'), deposit(other, at, '10')])
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${other}`)
    const plot = page.locator('.chart .u-over').first()
    await plot.scrollIntoViewIfNeeded()
    const { x = 0, y = 0, width = 0 } = (await plot.boundingBox()) ?? {}
    await page.mouse.move(x + 1, y + 50)
    await page.mouse.down()
    await page.mouse.move(x + width - 1, y + 50, { steps: 3 })
    await page.mouse.up()
    await page.waitForURL(/until=/)
    const { searchParams } = new URL(page.url())
    const [since, until] = ['since', 'until'].map((name) => Number(searchParams.get(name)))
    expect(since).toBeGreaterThan(at - day)
    expect(since).toBeLessThan(at)
    expect(until).toBeGreaterThan(at)
    expect(until).toBeLessThan(at + day)
    await closeFaultless()
  })

  test('does not show another window if its own request fails', async () => {
    const page = await browser.newPage({ locale: 'en-US' })
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('"since":1') === true
        ? route.fulfill({ status: 503, json: { errors: [{ message: 'Not now.' }], data: { vault: null } } })
        : route.continue(),
    )
    await page.goto(`${gateway.server.origin}/?vault=${vault}`)
    const panel = page.getByRole('region', { name: 'Equity' })
    await panel.getByRole('img').waitFor()
    await windowButton(page, false).click()
    await panel.getByRole('alert').filter({ hasText: 'Not now.' }).waitFor()
    expect(await panel.getByRole('img').count()).toBe(0)
    await panel.getByRole('button', { name: 'All' }).click()
    await panel.getByRole('img').waitFor()
    await page.close()
  })

  test('shows that its code could not be loaded, and is drawn at the next change', async () => {
    const page = await browser.newPage({ locale: 'en-US' })
    let isAway = true
    await page.route('**/explorer/equity-chart-*.js', (route) => (isAway ? route.abort() : route.continue()))
    await page.goto(`${gateway.server.origin}/?vault=${vault}`)
    const problem = page.getByRole('alert').filter({ hasText: 'The chart could not be loaded: reload the page.' })
    await problem.waitFor()
    expect(await page.locator('.chart canvas').count()).toBe(0)
    isAway = false
    await apply(database, [mark(vault, newest + 60, '12345678902222.25')])
    await page.locator('.chart canvas').first().waitFor()
    expect(await problem.count()).toBe(0)
    await page.close()
  })

  // The last test: it changes the data.
  test('keeps its window when a newer fact arrives', async () => {
    const { page, closeFaultless } = await open()
    expect(await windowButton(page, false).count()).toBe(1)
    await windowButton(page, false).click()
    await windowButton(page, true).waitFor()
    await apply(database, [mark(vault, newest + 3_600, '12345678901111.25')])
    await page.getByRole('region', { name: 'Figures' }).getByText('$12,345,678,901,111.25').first().waitFor()
    expect(await windowButton(page, true).count()).toBe(1)
    expect(await page.getByRole('button', { name: 'All', pressed: false }).count()).toBe(1)
    await closeFaultless()
  })
})
