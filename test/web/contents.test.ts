import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { createDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts'
import { openExplorer, pageFolders, rowsOf } from '../support/explorer.ts'
import { liveGateway, type LiveGateway } from '../support/live.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, owner } from '../support/world.ts'

const vault = addressOf(1)
const word = 'Donaudampfschiffahrtsgesellschaftskapitän'.repeat(3)
const odd = '<b>Ünï</b> & "quoted" \' 🚀 مرحبا'
const symbol = 'AVERYLONGSYMBOLOFATOKEN'
const venue = 'a-very-long-venue-name-with-dashes'
const greatest = '12345678901234.123456'

const strategies = [
  ['odd & <x>/?#', odd],
  ['long', word],
] as const

/** Facts with long or unusual names, and maximum amounts. */
const facts: readonly FactInput[] = [
  ...strategies.map(([id, name]): FactInput => {
    return { kind: 'strategy', ts: midnight, id, name, tagline: `${name} ${word}`, description: `${name} `.repeat(5) }
  }),
  {
    kind: 'screen',
    ts: midnight,
    assets: ['A', 'B'].map((end, index) => ({
      symbol: `${symbol}${end}`,
      name: [word, odd][index] ?? '',
      category: 'stock token' as const,
      venues: [venue, 'uniswap-v3', venue],
      liquidityUsd: greatest,
    })),
    pairs: [{ a: `${symbol}A`, b: `${symbol}B`, venues: [venue, venue], tvlUsd: greatest, emissions: true }],
    strategies: { long: [{ a: `${symbol}A`, b: `${symbol}B`, venues: [venue, venue] }] },
  },
  opened(vault, 'odd & <x>/?#'),
  opened(addressOf(2), 'long'),
  deposit(vault, midnight + 1, greatest),
  mark(vault, midnight + 3_600, '12345678904321.654321', {
    positions: [
      {
        id: `position-${'x'.repeat(60)}`,
        pool: { a: `${symbol}A`, b: `${symbol}B`, venue, feeTier: 100 },
        range: { lower: '0.000000000000000001', current: '0.000000123456789012', upper: `34${'0'.repeat(30)}` },
        pendingRewardsUsd: '123456789.123456',
      },
    ],
  }),
  event(vault, midnight + 3_601, { type: 'suspend', reason: `${odd} ${word}` }),
]

const views = {
  vaults: '',
  'a vault': `?vault=${vault}`,
  strategies: '?view=strategies',
  universe: '?view=universe',
  'pairs of an asset': `?view=universe&asset=${symbol}A`,
} as const

describe.skipIf(noBrowser !== null)('the explorer', () => {
  let browser: Browser
  let gateway: LiveGateway
  let database: TestDatabase
  let nothing: TestDatabase
  let empty: LiveGateway

  beforeAll(async () => {
    database = await emptyDatabase()
    nothing = await createDatabase()
    await apply(database, facts)
    const folders = await pageFolders()
    gateway = await liveGateway(database, { pageFolders: folders })
    empty = await liveGateway(nothing, { pageFolders: folders })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await gateway.close()
    await empty.close()
    await nothing.close()
  })

  async function loaded(page: Page): Promise<void> {
    await page.getByRole('region').first().waitFor()
    await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
    if (page.url().includes('vault=')) await page.locator('.chart canvas').first().waitFor()
  }

  /** Returns elements whose content overflows them or the page. */
  const tooWide = (page: Page): Promise<string[]> =>
    page.evaluate(`[document.documentElement, ...document.querySelectorAll('main *:not(svg *, .chart *)')]
      .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline')
      .filter((one) => one.clientWidth > 1)
      .map((one) => one.outerHTML.slice(0, 120))`)

  /** Returns the characters of a text within an element, in their visual order from left to right. */
  const charactersInPlace = (page: Page, selector: string, text: string): Promise<string> =>
    page.locator(selector).evaluate((element, wanted) => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
      const left = (node: Node, at: number): number => {
        const range = document.createRange()
        range.setStart(node, at)
        range.setEnd(node, at + 1)
        return range.getBoundingClientRect().left
      }
      const characters: [number, string][] = []
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const from = node.textContent?.indexOf(wanted) ?? -1
        if (from >= 0) for (const [at, one] of [...wanted].entries()) characters.push([left(node, from + at), one])
      }
      return characters
        .sort(([a], [b]) => a - b)
        .map(([, one]) => one)
        .join('')
    }, text)

  const cases = [1_280, 800, 375].flatMap((width) => Object.entries(views).map(([name, query]) => [name, width, query]))
  test.each(cases as [string, number, string][])(
    'has nothing wider than its place, with long names and amounts: %s, %i px wide',
    async (_, width, query) => {
      const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, query, { width })
      await loaded(page)
      for (const details of await page.locator('summary').all()) await details.click()
      expect(await tooWide(page)).toEqual([])
      await closeFaultless()
    },
  )

  test('shows names unchanged, and links to the vaults of a strategy with an unusual id', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, '?view=strategies')
    await page.getByRole('heading', { level: 3, name: odd, exact: true }).waitFor()
    await page.getByRole('link', { name: `The one vault of ${odd}` }).click()
    await page.getByText('1 vault', { exact: true }).waitFor()
    await page.reload()
    await rowsOf(page, 'Vaults').nth(1).getByText(odd).waitFor()
    await rowsOf(page, 'Vaults').getByRole('link').click()
    await page
      .getByRole('status')
      .filter({ hasText: `: ${odd} ${word}. Exits are open.` })
      .waitFor()
    await closeFaultless()
  })

  test('has the same contents on a phone as on a wide screen', async () => {
    const texts = async (width: number): Promise<readonly string[]> => {
      const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, '', { width })
      await loaded(page)
      const cells = rowsOf(page, 'Vaults').nth(1).getByRole('cell').filter({ visible: true })
      const found = await cells.allTextContents()
      await page.getByRole('button', { name: 'by strategy' }).click()
      await page.waitForURL(/sort=strategy_delta_usd/)
      await rowsOf(page, 'Vaults').getByRole('link').first().click()
      await page.getByRole('table', { name: 'Ledger' }).getByRole('cell', { name: odd }).waitFor()
      await closeFaultless()
      return found
    }
    const wide = await texts(1_280)
    expect(wide).toHaveLength(8)
    expect(await texts(375)).toEqual(wide)
  })

  test('shows that a list is empty, and why', async () => {
    const { origin } = gateway.server
    const cases = [
      [empty.server.origin, '', ['No vault is known yet.']],
      [empty.server.origin, '?view=strategies', ['No strategy is published yet.']],
      [empty.server.origin, '?view=universe', ['No asset passes the screen.', 'No such pair passes the screen.']],
      [origin, `?owner=${owner}&status=idle&least=5`, ['No vault matches these filters.']],
      [origin, '?view=universe&category=meme', ['No asset of this category passes the screen.']],
      [origin, `?vault=${addressOf(2)}`, ['The ledger has no rows yet.', 'No open position.']],
      [origin, `?vault=${vault}&types=fee`, ['The ledger has no rows of these types.']],
    ] as const
    for (const [from, query, texts] of cases) {
      const { page, closeFaultless } = await openExplorer(browser, from, query)
      for (const text of texts) await page.getByText(text, { exact: true }).waitFor()
      await closeFaultless()
    }
  })

  test('shows which part of a truncated link is missing, with a link to all vaults', async () => {
    const { page, closeFaultless } = await openExplorer(
      browser,
      gateway.server.origin,
      `?vault=${vault.slice(0, 20)}&since=x`,
    )
    await page.getByRole('heading', { level: 1, name: `Vault ${vault.slice(0, 20)}` }).waitFor()
    await page.getByRole('alert').filter({ hasText: 'This is not the address of a vault' }).waitFor()
    expect(await page.getByRole('region').count()).toBe(0)
    await page.getByRole('link', { name: 'All vaults' }).click()
    await page.getByText('2 vaults', { exact: true }).waitFor()
    await closeFaultless()
  })

  // The last test: it changes the data.
  test('shows numbers from left to right beside a name that changes the text direction', async () => {
    const other = addressOf(3)
    const [reversed, pool] = ['\u202eabc', { a: 'A', b: 'B', venue: '\u202edex', feeTier: 500 }]
    const range = { lower: '1', upper: '3', current: '2' }
    const positions = [{ id: reversed, pool, range, pendingRewardsUsd: '1' }]
    await apply(database, [
      ...[opened(other, 'long'), deposit(other, midnight + 1, '5'), mark(other, midnight + 2, '5', { positions })],
      event(other, midnight + 3, { type: 'suspend', reason: reversed }),
    ])
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${other}`)
    await page.getByText('0.05 %').waitFor()
    expect(await charactersInPlace(page, '.positions p', '0.05 %')).toBe('0.05 %')
    expect(await charactersInPlace(page, '.banner', 'Exits')).toBe('Exits')
    await closeFaultless()
  })
})
