import type { Browser, Locator } from 'playwright-core'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { pageFolders, openExplorer, rowsOf } from '../support/explorer.ts'
import { liveGateway, type LiveGateway } from '../support/live.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, owner, strategy } from '../support/world.ts'

if (noBrowser !== null) console.warn(`The explorer is not opened in a browser: ${noBrowser}`)

const many = 60
const polygon = addressOf(900)

interface ListedVault {
  readonly address: string
  readonly status: string
  readonly valueUsd: number
}

interface Snapshot {
  readonly netUsd: number
  readonly valueUsd: number
  readonly strategyDeltaUsd: number
  readonly marketDeltaUsd: number
  readonly fees: Readonly<Record<string, number>>
  readonly positions: readonly { readonly range: Readonly<Record<string, number>> }[]
}

describe.skipIf(noBrowser !== null)('the explorer', () => {
  let browser: Browser
  let gateway: LiveGateway
  let database: TestDatabase
  let vaults: readonly ListedVault[]

  beforeAll(async () => {
    database = await emptyDatabase()
    await apply(database, demoFacts(midnight))
    const later = midnight + 10
    await apply(database, [
      strategy('calm', later),
      ...Array.from({ length: many }, (_, index) => opened(addressOf(index + 1), 'calm', later)),
      ...Array.from({ length: many }, (_, index) => deposit(addressOf(index + 1), later + 1, String(1_000 + index))),
      { ...(opened(polygon, 'calm', later) as object), chainId: 137 } as never,
      deposit(polygon, later + 1, '12345678901.123456'),
    ])
    gateway = await liveGateway(database, { pageFolders: await pageFolders() })
    browser = await openBrowser()
    const data = await gateway.query<{ vaults: { nodes: ListedVault[] } }>(
      '{ vaults(first: 200) { nodes { address status valueUsd } } }',
    )
    vaults = data.vaults.nodes
  })
  afterAll(async () => {
    await browser.close()
    await gateway.close()
  })

  const inStatus = (status: string) => vaults.find((vault) => vault.status === status)?.address ?? ''
  const values = (cells: Locator): Promise<string[]> =>
    cells.evaluateAll((all) => all.map((one) => one.getAttribute('value') ?? ''))

  test('lists vaults, the most valuable first, and loads more on scrolling', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    await page.getByText(`${vaults.length} vaults`).waitFor()
    const first = rowsOf(page, 'Vaults').nth(1)
    expect(await first.getByRole('link').getAttribute('title')).toBe(vaults[0]?.address)
    expect(await first.textContent()).toContain('$12,345,678,901.12')
    const table = page.getByRole('table', { name: 'Vaults' })
    expect(await table.getAttribute('aria-rowcount')).toBe(String(vaults.length + 1))
    const seen = new Map<number, string | null>()
    const scrolled = async (): Promise<number> => {
      const rows = await rowsOf(page, 'Vaults').evaluateAll((all) =>
        all.map((row) => [Number(row.ariaRowIndex), row.querySelector('a')?.getAttribute('title') ?? null] as const),
      )
      expect(rows.length).toBeLessThan(40)
      for (const [index, title] of rows) if (title !== null) seen.set(index, title)
      await page.mouse.wheel(0, 400)
      return seen.size
    }
    await expect.poll(scrolled, { timeout: 20_000 }).toBe(vaults.length)
    const shown = [...seen].sort(([a], [b]) => a - b)
    expect(shown).toEqual(vaults.map(({ address }, index) => [index + 2, address]))
    await closeFaultless()
  })

  test('returns to the row that was left, and keeps the focused row while others are added and removed', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    await page.getByText(`${vaults.length} vaults`).waitFor()
    const row = page.locator('[aria-rowindex="62"]')
    const place = (): Promise<number> => page.evaluate('window.scrollY')
    const scrolled = async (): Promise<number> => {
      await page.mouse.wheel(0, 700)
      return row.count()
    }
    await expect.poll(scrolled, { timeout: 20_000 }).toBe(1)
    await row.getByRole('link').scrollIntoViewIfNeeded()
    const [left, link] = [await place(), (await row.getByRole('link').getAttribute('title')) ?? '']
    expect(left).toBeGreaterThan(1_000)
    await row.getByRole('link').press('Enter')
    await page.getByRole('heading', { level: 1, name: `Vault ${link}` }).waitFor()
    expect(await place()).toBe(0)
    await page.goBack()
    await expect.poll(place).toBeCloseTo(left, -1)
    await expect.poll(() => page.evaluate('document.activeElement.title')).toBe(link)
    await page.mouse.wheel(0, -100_000)
    await expect.poll(place).toBe(0)
    await rowsOf(page, 'Vaults').nth(1).getByText('$12,345,678,901.12').waitFor()
    expect(await page.evaluate('document.activeElement.title')).toBe(link)
    await page.keyboard.press('Shift+Tab')
    await expect.poll(place).toBeGreaterThan(1_000)
    await closeFaultless()
  })

  test('sorts and filters by the server, and keeps it in the address', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    await page.getByRole('button', { name: 'Value' }).click()
    await page.getByRole('columnheader', { name: 'Value' }).and(page.locator('[aria-sort=ascending]')).waitFor()
    await page.getByRole('checkbox', { name: 'suspended' }).check()
    await page.getByText('1 vault', { exact: true }).waitFor()
    expect(page.url()).toContain('?direction=asc&status=suspended')
    await page.getByRole('checkbox', { name: 'attention' }).check()
    await page.getByText('2 vaults', { exact: true }).waitFor()
    await page.goBack()
    await page.getByText('1 vault', { exact: true }).waitFor()
    expect(await page.getByRole('checkbox', { name: 'attention' }).isChecked()).toBe(false)
    await page.goForward()
    await page.getByText('2 vaults', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('2 vaults', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByRole('combobox', { name: 'Strategy' }).selectOption('Ether Core')
    await page.getByText('3 vaults', { exact: true }).waitFor()
    await page.getByRole('textbox', { name: 'Least value in USD' }).fill('200000')
    await page.keyboard.press('Tab')
    await page.getByText('1 vault', { exact: true }).waitFor()
    await closeFaultless()
  })

  test('finds a vault by its address, and vaults by their owner', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    const search = async (text: string): Promise<void> => {
      await page.getByRole('searchbox', { name: 'Vault, owner or strategy' }).fill(text)
      await page.keyboard.press('Enter')
    }
    await search(addressOf(999))
    await page.getByText('No vault or owner has this address.').waitFor()
    await search(`0x${'ab'.repeat(32)}`)
    await page.getByText("This is a transaction's hash").waitFor()
    await search(owner)
    await page.getByText(`${many + 1} vaults`).waitFor()
    await search(`https://polygonscan.com/address/${polygon.toLowerCase()}#code`)
    await page.getByRole('heading', { level: 1, name: `Vault ${polygon}` }).waitFor()
    expect(page.url()).toContain(`?vault=${polygon}`)
    await closeFaultless()
  })

  test('finds vaults by a part of an address, and strategies by their names', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    const search = async (text: string): Promise<void> => {
      await page.getByRole('link', { name: 'Vaults', exact: true }).click()
      await page.getByRole('searchbox', { name: 'Vault, owner or strategy' }).fill(text)
      await page.keyboard.press('Enter')
    }
    await search('ether')
    const hits = page.getByRole('list', { name: 'Hits' })
    await expect
      .poll(() => hits.getByRole('link').allTextContents())
      .toEqual(['Ether Core', 'Ether Tight', 'Ether Wide'])
    await search('calm')
    await page.getByText(`${many + 1} vaults`).waitFor()
    await search(polygon.slice(0, 8))
    await expect.poll(() => hits.getByRole('link').count()).toBe(8)
    await page.getByText(/^\d+ addresses like this\.$/).waitFor()
    const address = inStatus('EARNING')
    await search(`${address.slice(0, 8)}…${address.slice(-6)}`)
    await page.getByRole('heading', { level: 1, name: `Vault ${address}` }).waitFor()
    await search('0xfffffff')
    await page.getByText('No address like this.').waitFor()
    await closeFaultless()
  })

  test('shows the amounts of a vault as in REST, to the last digit', async () => {
    const address = inStatus('EARNING')
    const text = await (await gateway.get(`/vault/${address}/snapshot`)).text()
    const snapshot = JSON.parse(text) as Snapshot
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${address}`)
    const region = (name: string) => page.getByRole('region', { name })
    const { valueUsd, netUsd, strategyDeltaUsd, marketDeltaUsd, fees, positions } = snapshot
    for (const [name, amount, isGain] of [
      ['Value', valueUsd, false],
      ['Gain net of flows', netUsd, true],
      ['by the strategy', strategyDeltaUsd, true],
      ['by the market', marketDeltaUsd, true],
    ] as const) {
      const shown = region('Figures')
        .getByRole('definition')
        .filter({ has: page.locator(`data[value="${amount}"]`) })
      const digits = amount.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 })
      expect(await shown.first().textContent(), name).toBe(`${isGain ? '+' : ''}$${digits}`)
      expect(text).toContain(`:${amount}`)
    }
    await expect.poll(() => values(region('Fees').locator('data'))).toEqual(Object.values(fees).map(String))
    await region('Positions').getByRole('img').waitFor()
    const { lower, current, upper } = positions[0]?.range ?? {}
    expect((await values(region('Positions').locator('data'))).slice(0, 3)).toEqual([lower, current, upper].map(String))
    expect(await region('Positions').getByRole('img').getAttribute('aria-label')).toMatch(/^Range from .*, in range$/)
    expect(await region('Equity').getByRole('img').getAttribute('aria-label')).toMatch(/deposits: 1, withdrawals: 0$/)
    await page.locator('.chart canvas').first().waitFor()
    await closeFaultless()
  })

  test('shows amounts that exceed the precision of JavaScript numbers', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${polygon}`)
    await page.getByRole('region', { name: 'Figures' }).getByText('$12,345,678,901.123456').first().waitFor()
    await closeFaultless()
  })

  test('marks a position out of range, and shows that exits of a suspended vault are open', async () => {
    const first = await openExplorer(browser, gateway.server.origin, `?vault=${inStatus('ATTENTION')}`)
    const bar = first.page.getByRole('region', { name: 'Positions' }).getByRole('img')
    expect(await bar.getAttribute('aria-label')).toMatch(/out of range$/)
    await first.closeFaultless()
    const second = await openExplorer(browser, gateway.server.origin, `?vault=${inStatus('SUSPENDED')}`)
    const banner = second.page.getByRole('status').filter({ hasText: 'Suspended since' })
    expect(await banner.textContent()).toMatch(/Suspended since .*\. Exits are open\.$/)
    await second.closeFaultless()
  })

  test('zooms into the chart by dragging, and by the keyboard, and asks for the shorter window', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${inStatus('EARNING')}`)
    const chart = page.locator('.chart .u-over').first()
    await chart.waitFor()
    const summary = () => page.locator('.chart').getAttribute('aria-label')
    const whole = await summary()
    const box = await chart.boundingBox()
    if (box === null) throw new Error('the chart has no place')
    await page.mouse.move(box.x + box.width * 0.4, box.y + 100)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.6, box.y + 100, { steps: 5 })
    const windowRequest = page.waitForRequest((request) => request.postData()?.includes('"since":1') === true)
    await page.mouse.up()
    expect((await windowRequest).postData()).toMatch(/"until":1\d{9}/)
    await expect.poll(summary).not.toBe(whole)
    expect(page.url()).toMatch(/&since=\d+&until=\d+/)
    const dragged = page.url()
    await page.getByRole('button', { name: 'Zoom in' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).not.toBe(dragged)
    await page.getByRole('button', { name: 'All' }).press('Enter')
    await expect.poll(summary).toBe(whole)
    await closeFaultless()
  })

  test('filters the ledger by type, and links transactions to the explorer of a known chain', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${inStatus('EARNING')}`)
    await page.getByText('3 rows').waitFor()
    await page.getByRole('region', { name: 'Ledger' }).getByRole('checkbox', { name: 'deposit' }).check()
    await page.getByText('1 row', { exact: true }).waitFor()
    expect(page.url()).toContain('types=deposit')
    expect(await rowsOf(page, 'Ledger').getByRole('link').count()).toBe(0)
    await page.goto(`${gateway.server.origin}/?vault=${polygon}`)
    const link = rowsOf(page, 'Ledger').getByRole('link')
    expect(await link.getAttribute('href')).toMatch(/^https:\/\/polygonscan\.com\/tx\/0x[0-9a-f]{64}$/)
    await closeFaultless()
  })

  test('shows strategies with their vaults, and the universe with its filters', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    await page.getByRole('link', { name: 'Strategies' }).click()
    const wide = page.getByRole('article', { name: 'Ether Wide' })
    await expect.poll(() => wide.getByText('not enough history yet').count()).toBe(2)
    expect(await page.getByRole('article', { name: 'Ether Core' }).textContent()).toMatch(/APR\d+\.\d\d%/)
    await page.getByRole('link', { name: 'All 3 vaults of Ether Core' }).click()
    await page.getByText('3 vaults', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'Universe' }).click()
    await expect.poll(() => rowsOf(page, 'Assets').count()).toBe(6)
    expect(await rowsOf(page, 'Pairs').nth(1).textContent()).toMatch(/WETH\/USDC.*\$143,220,110\.20.*yes/)
    await page.getByRole('combobox', { name: 'Category' }).selectOption('stock token')
    await expect.poll(() => rowsOf(page, 'Assets').count()).toBe(2)
    await page.getByRole('link', { name: 'AAPLx' }).click()
    await expect.poll(() => rowsOf(page, 'Pairs').count()).toBe(2)
    expect(page.url()).toContain('category=stock_token&asset=AAPLx')
    await closeFaultless()
  })

  test('opens each panel in GraphiQL with its query, and downloads its data as CSV', async () => {
    const address = inStatus('EARNING')
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${address}`)
    for (const name of ['Figures', 'Equity', 'Positions', 'Fees', 'Ledger']) {
      const href = (await page.getByRole('link', { name: `Open ${name} in GraphiQL` }).getAttribute('href')) ?? ''
      const query = new URLSearchParams(href.split('?')[1]).get('query') ?? ''
      const { vault } = await gateway.query<{ vault: object | null }>(query)
      expect(vault).not.toBeNull()
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: `Download ${name} as CSV` }).click()
      const csv = await readFile(await (await download).path(), 'utf8')
      expect(csv.split('\r\n').length, name).toBeGreaterThan(2)
      if (name === 'Figures') expect(csv).toMatch(/^strategy\.name,Ether Core\r\n(?:.*\r\n)*suspension,\r\n/m)
    }
    await page.getByRole('link', { name: 'Strategies' }).click()
    await page.getByRole('article', { name: 'Ether Core' }).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download Catalogue as CSV' }).click(),
    ])
    expect(await readFile(await download.path(), 'utf8')).toMatch(/^id,name,tagline,description,/)
    await closeFaultless()
  })

  test('shows a ledger to its oldest row on scrolling, and downloads all of it', async () => {
    const [address, length] = [addressOf(7), 1_010]
    const fees = Array.from({ length }, (_, index) =>
      event(address, midnight + 20 + index, { type: 'fee', amountUsd: String(index) }),
    )
    await apply(database, fees)
    const query = `?vault=${address}&types=fee`
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, query)
    await page.getByText('1,010 rows', { exact: true }).waitFor()
    const scrolled = async (): Promise<number> => {
      await page.mouse.wheel(0, 100_000)
      return Number(await rowsOf(page, 'Ledger').last().getAttribute('aria-rowindex'))
    }
    await expect.poll(scrolled, { timeout: 30_000 }).toBe(length + 1)
    await rowsOf(page, 'Ledger').last().getByText('$0.00').waitFor()
    expect(await rowsOf(page, 'Ledger').count()).toBeLessThan(50)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download Ledger as CSV' }).click(),
    ])
    const first = await gateway.get(`/vault/${address}/events?type=fee&limit=1000`, { headers: { accept: 'text/csv' } })
    const csv = await readFile(await download.path(), 'utf8')
    expect(csv.startsWith(await first.text())).toBe(true)
    expect(csv.trimEnd().split('\r\n')).toHaveLength(length + 1)
    await closeFaultless()
  })

  test('downloads all vaults of a filter', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?owner=${owner}`)
    await page.getByText(`${many + 1} vaults`).waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download Vaults as CSV' }).click(),
    ])
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
    expect(lines).toHaveLength(many + 2)
    expect(lines[1]).toBe(`${polygon},calm,PLANTING,12345678901.123456,0,0,0,,,${midnight + 11}`)
    await closeFaultless()
  })

  test('updates its values when facts arrive, without a reload', async () => {
    const address = addressOf(5)
    const list = await openExplorer(browser, gateway.server.origin, `?owner=${owner}&least=900000`)
    const vault = await openExplorer(browser, gateway.server.origin, `?vault=${address}`)
    await vault.page.getByRole('region', { name: 'Figures' }).getByText('$1,004.00').first().waitFor()
    await list.page.getByText('1 vault', { exact: true }).waitFor()
    const stays = 'window.stays = true'
    await Promise.all([list.page.evaluate(stays), vault.page.evaluate(stays)])
    await apply(database, [mark(address, midnight + 100, '1234567.5')])
    await vault.page.getByText('$1,234,567.50').first().waitFor()
    await list.page.getByText('2 vaults', { exact: true }).waitFor()
    for (const { page } of [list, vault]) expect(await page.evaluate('window.stays')).toBe(true)
    await list.closeFaultless()
    await vault.closeFaultless()
  })
})
