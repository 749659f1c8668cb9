import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ingest } from '../../src/feed/ingest.ts'
import { fileSource } from '../../src/feed/reading/source.ts'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { pageFolders, type ExplorerPage, openExplorer, rowsOf } from '../support/explorer.ts'
import { realFeed } from '../support/feeds.ts'
import { liveGateway, type LiveGateway } from '../support/live.ts'
import { apply, event, mark } from '../support/world.ts'

const feed = realFeed ?? ''
const skipped = realFeed === null ? 'there are no real-market facts in ../shared' : noBrowser

interface ExpectedVault {
  readonly status: string
  readonly strategy: string
  readonly owner: string
  readonly valueUsd: string
  readonly netUsd: string
  readonly strategyDeltaUsd: string
  readonly marketDeltaUsd: string
  readonly equityPoints: number
  readonly events: number
  readonly newest: readonly (readonly [txHash: string, type: string, ts: number])[]
  readonly positions: readonly { readonly range: Readonly<Record<string, string>> }[]
  readonly fees: Readonly<Record<string, string>>
  readonly suspension: { readonly reason: string } | null
  readonly updatedAt: number
}

interface Expected {
  readonly vaults: Readonly<Record<string, ExpectedVault>>
  readonly strategies: Readonly<Record<string, { readonly liveApr: number | null; readonly sigma: number | null }>>
}

if (skipped !== null) console.warn(`The explorer is not opened on the real-market feed: ${skipped}`)

const strategyNames: Readonly<Record<string, string>> = {
  'weth-usdc-core': 'Ether Core',
  'weth-usdc-tight': 'Ether Tight',
  'weth-usdc-new': 'Ether Fresh',
}

describe.runIf(skipped === null)('the explorer on the real-market feed', async () => {
  const expected: Expected =
    realFeed === null
      ? { vaults: {}, strategies: {} }
      : (JSON.parse(await readFile(feed.replace('.ndjson.gz', '.expected.json'), 'utf8')) as Expected)
  const vaults = Object.entries(expected.vaults)
  let browser: Browser
  let database: TestDatabase
  let gateway: LiveGateway

  beforeAll(async () => {
    database = await emptyDatabase()
    await ingest({ database, source: await fileSource(feed) })
    gateway = await liveGateway(database, { pageFolders: await pageFolders() })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await gateway.close()
  })

  const open = (query = ''): Promise<ExplorerPage> => openExplorer(browser, gateway.server.origin, query)
  const inStatus = (status: string): [string, ExpectedVault] => {
    const found = vaults.find(([, vault]) => vault.status === status)
    if (found === undefined) throw new Error(`no vault of the feed is ${status}`)
    return found
  }
  const listed = (page: Page): Promise<string[]> =>
    page
      .getByRole('table', { name: 'Vaults' })
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => (link.getAttribute('title') ?? '').toLowerCase()))
  const by = (amount: 'valueUsd' | 'netUsd'): string[] =>
    vaults
      .map(([address, vault]) => [address, Number(vault[amount])] as const)
      .sort(([, a], [, b]) => b - a)
      .map(([address]) => address)

  test('lists each vault with its strategy, status, value, gain and its parts, APR, curve and newest fact', async () => {
    const { page, closeFaultless } = await open()
    await page.getByText(`${vaults.length} vaults`).waitFor()
    expect(await listed(page)).toEqual(by('valueUsd'))
    for (const [address, vault] of vaults) {
      const row = rowsOf(page, 'Vaults').nth(by('valueUsd').indexOf(address) + 1)
      expect(await row.getByRole('rowheader').textContent()).toContain(strategyNames[vault.strategy])
      await row.getByRole('cell', { name: vault.status, exact: true }).waitFor()
      const figures = await row.locator('data').evaluateAll((all) => all.map((one) => one.getAttribute('value')))
      const { valueUsd, netUsd, strategyDeltaUsd, marketDeltaUsd } = vault
      expect(figures.slice(0, 4)).toEqual([valueUsd, netUsd, strategyDeltaUsd, marketDeltaUsd])
      const apr = expected.strategies[vault.strategy]?.liveApr ?? null
      if (apr === null) await row.getByRole('cell', { name: 'not enough history yet' }).waitFor()
      else expect(Number(figures[4])).toBeCloseTo(apr, 9)
      await row.getByRole('img', { name: /^Gain from [+-]?\$.* to [+-]?\$/ }).waitFor()
      const time = await row.getByRole('time').getAttribute('datetime')
      expect(time).toBe(new Date(vault.updatedAt * 1000).toISOString())
    }
    await page.getByRole('button', { name: 'Gain' }).click()
    await expect.poll(() => listed(page)).toEqual(by('netUsd'))
    await page.getByRole('combobox', { name: 'Strategy' }).selectOption('Ether Tight')
    const tight = vaults.filter(([, vault]) => vault.strategy === 'weth-usdc-tight').map(([address]) => address)
    await expect.poll(() => listed(page)).toEqual(tight)
    const owner = inStatus('suspended')[1].owner
    await page.getByRole('searchbox').fill(owner)
    await page.keyboard.press('Enter')
    const owned = by('valueUsd').filter((address) => expected.vaults[address]?.owner === owner)
    await expect.poll(() => listed(page)).toEqual(owned)
    await closeFaultless()
  })

  test.each(vaults)('shows the figures, positions, fees and ledger of %s', async (address, vault) => {
    const { page, closeFaultless } = await open(`?vault=${address}`)
    const amounts = (panel: string): Promise<(string | null)[]> =>
      page
        .getByRole('region', { name: panel })
        .locator('dl data')
        .evaluateAll((all) => all.map((one) => one.getAttribute('value')))
    const { valueUsd, netUsd, strategyDeltaUsd, marketDeltaUsd } = vault
    const head = async () => (await amounts('Figures')).slice(0, 4)
    await expect.poll(head).toEqual([valueUsd, netUsd, strategyDeltaUsd, marketDeltaUsd])
    const { contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd } = vault.fees
    await expect.poll(() => amounts('Fees')).toEqual([contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd])
    const ranges = vault.positions.map(({ range: { lower, current, upper } }) => [lower, current, upper])
    const shown = async () => (await amounts('Positions')).filter((_, index) => index % 4 < 3)
    await expect.poll(shown).toEqual(ranges.flat())
    const isOut = vault.status === 'attention'
    expect(await page.getByRole('img', { name: /^Range .* out of range$/ }).count()).toBe(isOut ? ranges.length : 0)
    await page.getByText(vault.events === 1 ? '1 row' : `${vault.events} rows`, { exact: true }).waitFor()
    for (const [index, [txHash, type]] of vault.newest.entries()) {
      const row = rowsOf(page, 'Ledger').nth(index + 1)
      await row.getByRole('cell', { name: type, exact: true }).waitFor()
      await row.getByTitle(txHash).waitFor()
    }
    const banner = page.getByRole('status').filter({ hasText: 'Suspended since' })
    expect(await banner.count()).toBe(vault.suspension === null ? 0 : 1)
    if (vault.suspension !== null) {
      expect(await banner.textContent()).toContain(`: ${vault.suspension.reason}. Exits are open.`)
    }
    await closeFaultless()
  })

  test('draws equity with its flows, and requests more points of a shorter window after dragging', async () => {
    const [address, vault] = inStatus('earning')
    const { page, closeFaultless } = await open(`?vault=${address}`)
    const chart = page.getByRole('img', { name: /^Equity from .* deposits: 2, withdrawals: 1$/ })
    await chart.locator('canvas').first().waitFor()
    const whole = (await chart.getAttribute('aria-label')) ?? ''
    await page.getByText('The points of the chart as a table').click()
    const times = (): Promise<string[]> =>
      page
        .getByRole('table', { name: 'Equity' })
        .getByRole('time')
        .evaluateAll((all) => all.map((one) => one.getAttribute('datetime') ?? ''))
    const thinned = await times()
    expect(thinned.length).toBeLessThan(vault.equityPoints)
    const box = await chart.locator('.u-over').first().boundingBox()
    if (box === null) throw new Error('the chart has no place')
    await page.mouse.move(box.x + box.width * 0.4, box.y + 100)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.6, box.y + 100, { steps: 5 })
    await page.mouse.up()
    await page.waitForURL(/since=\d+&until=\d+/)
    await expect.poll(async () => (await times()).length).toBeLessThan(thinned.length)
    const zoomed = await times()
    const [first = '', last = ''] = [zoomed[0], zoomed.at(-1)]
    expect(zoomed.length).toBeGreaterThan(thinned.filter((time) => time >= first && time <= last).length)
    await page.goBack()
    await page.getByRole('img', { name: whole, exact: true }).waitFor()
    await closeFaultless()
  })

  test('downloads the same CSV as REST', async () => {
    const [address, vault] = inStatus('attention')
    const { page, closeFaultless } = await open(`?vault=${address}&types=rebalance`)
    const saved = async (panel: string): Promise<string> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `Download ${panel} as CSV` }).click(),
      ])
      return readFile(await download.path(), 'utf8')
    }
    const byRest = async (path: string): Promise<string> =>
      (await gateway.get(`/vault/${address}/${path}`, { headers: { accept: 'text/csv' } })).text()
    expect(await saved('Ledger')).toBe(await byRest('events?type=rebalance&limit=1000'))
    const equity = (await saved('Equity')).trimEnd().split('\r\n')
    expect(equity).toHaveLength(vault.equityPoints + 1)
    const restLines = (await byRest('equity?points=2000')).trimEnd().split('\r\n')
    expect(equity.map((line) => line.split(',').slice(0, 4).join(','))).toEqual(restLines)
    await closeFaultless()
  })

  test('shows the strategies with their figures, and the universe', async () => {
    const { page, closeFaultless } = await open('?view=strategies')
    for (const [id, { liveApr, sigma }] of Object.entries(expected.strategies)) {
      const card = page.getByRole('article', { name: strategyNames[id] ?? '' })
      await card.getByRole('listitem').filter({ hasText: 'WETH/USDC' }).waitFor()
      await card.getByRole('link', { name: /^(All \d+ vaults|The one vault) of / }).waitFor()
      const missing = [liveApr, sigma].filter((figure) => figure === null).length
      expect(await card.getByText('not enough history yet').count()).toBe(missing)
      const figures = await card
        .locator('data')
        .evaluateAll((all) => all.map((one) => Number(one.getAttribute('value'))))
      for (const [index, figure] of [liveApr, sigma].entries()) {
        if (figure !== null) expect(figures[index]).toBeCloseTo(figure, 9)
      }
    }
    await page.getByRole('link', { name: 'Universe' }).click()
    await rowsOf(page, 'Assets').nth(1).waitFor()
    expect(await rowsOf(page, 'Assets').nth(1).textContent()).toMatch(
      /^WETHWrapped Ether.*uniswap-v3.*\$184,220,113\.51/,
    )
    expect(await rowsOf(page, 'Pairs').nth(1).textContent()).toMatch(/^WETH\/USDC.*\$143,220,110\.20yes$/)
    await closeFaultless()
  })

  // The last test: it changes the data.
  test('updates after a line is applied to the feed, without a reload', async () => {
    const [address, vault] = inStatus('earning')
    const list = await open()
    const opened = await open(`?vault=${address}`)
    await opened.page.getByText(`${vault.events} rows`, { exact: true }).waitFor()
    await list.page.getByText(`${vaults.length} vaults`).waitFor()
    for (const { page } of [list, opened]) await page.evaluate('window.stays = true')
    const prices = { USDC: '1', WETH: '1600' }
    const later = vault.updatedAt + 3_600
    await apply(database, [
      mark(address, later, '400000.000001', { prices }),
      event(address, later + 1, { type: 'withdraw', amountUsd: '1234.5', valueBeforeUsd: '400000.000001', prices }),
    ])
    await opened.page.getByText(`${vault.events + 1} rows`, { exact: true }).waitFor()
    await rowsOf(opened.page, 'Ledger').nth(1).getByText('$1,234.50').waitFor()
    await opened.page.getByRole('img', { name: /^Equity from .* deposits: 2, withdrawals: 2$/ }).waitFor()
    await opened.page.getByRole('region', { name: 'Figures' }).getByText('$398,765.500001').waitFor()
    await rowsOf(list.page, 'Vaults').nth(1).getByText('$398,765.50').waitFor()
    for (const { page } of [list, opened]) expect(await page.evaluate('window.stays')).toBe(true)
    await list.closeFaultless()
    await opened.closeFaultless()
  })
})
