import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { emptyDatabase } from '../support/database.ts'
import { pageFolders, openExplorer } from '../support/explorer.ts'
import { liveGateway, type LiveGateway } from '../support/live.ts'
import { apply, midnight } from '../support/world.ts'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const names = [
  'vaults',
  'vaults of a status',
  'an earning vault',
  'a suspended vault',
  'a vault out of range',
  'strategies',
  'universe',
] as const

const backgrounds = new Map([
  ['light', 'rgb(244, 246, 249)'],
  ['dark', 'rgb(13, 17, 23)'],
] as const)

/** Runs axe-core in a page. Scripts that a test evaluates are exempt from the page's content security policy. */
async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const { violations, passes } = await page.evaluate<AxeResults>('axe.run()')
  expect(passes.length).toBeGreaterThan(10)
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

describe.skipIf(noBrowser !== null)('each view of the explorer', () => {
  let browser: Browser
  let gateway: LiveGateway
  let views: Readonly<Record<(typeof names)[number], string>>

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, demoFacts(midnight))
    gateway = await liveGateway(database, { pageFolders: await pageFolders() })
    browser = await openBrowser()
    const { vaults } = await gateway.query<{ vaults: { nodes: { address: string; status: string }[] } }>(
      '{ vaults { nodes { address status } } }',
    )
    const inStatus = (status: string): string => vaults.nodes.find((vault) => vault.status === status)?.address ?? ''
    views = {
      vaults: '',
      'vaults of a status': '?status=idle',
      'an earning vault': `?vault=${inStatus('EARNING')}`,
      'a suspended vault': `?vault=${inStatus('SUSPENDED')}`,
      'a vault out of range': `?vault=${inStatus('ATTENTION')}`,
      strategies: '?view=strategies',
      universe: '?view=universe&asset=WETH',
    }
  })
  afterAll(async () => {
    await browser.close()
    await gateway.close()
  })

  /** Waits until all panels have their data. */
  async function loaded(page: Page): Promise<void> {
    await page.getByRole('region').first().waitFor()
    await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
    if (page.url().includes('vault=')) await page.locator('.chart canvas').first().waitFor()
  }

  const backgroundOf = (page: Page): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor')
  /** All views on a wide screen, and one of each kind on a narrow one. */
  const viewsAt = (narrow: number) => [
    ...names.map((name) => [name, 1_280] as const),
    ...(['vaults', 'a suspended vault', 'strategies', 'universe'] as const).map((name) => [name, narrow] as const),
  ]

  test.each(viewsAt(360))('violates no rule of axe-core: %s, %i px wide', async (name, width) => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, views[name], { width })
    await loaded(page)
    for (const details of await page.locator('summary').all()) await details.click()
    for (const [colorScheme, background] of backgrounds) {
      await page.emulateMedia({ colorScheme })
      expect(await backgroundOf(page)).toBe(background)
      expect(await violationsIn(page), colorScheme).toEqual([])
    }
    expect(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth')).toBe(true)
    await closeFaultless()
  })

  test('has the theme that is chosen, by the keyboard too, and keeps it', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, views['an earning vault'])
    await loaded(page)
    const curve = (): Promise<string> =>
      page.evaluate("getComputedStyle(document.querySelector('.swatch.value')).color")
    const picture = async (): Promise<string> => page.evaluate("document.querySelector('.chart canvas').toDataURL()")
    const theme = page.getByRole('combobox', { name: 'Theme' })
    const [light, drawn] = [await curve(), await picture()]
    await theme.focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    expect(await theme.inputValue()).toBe('dark')
    expect(await backgroundOf(page)).toBe(backgrounds.get('dark'))
    expect(await curve()).toMatch(/^rgb\(/)
    expect(await curve()).not.toBe(light)
    await expect.poll(picture).not.toBe(drawn)
    await page.reload()
    expect(await theme.inputValue()).toBe('dark')
    expect(await backgroundOf(page)).toBe(backgrounds.get('dark'))
    await theme.selectOption('system')
    expect(await backgroundOf(page)).toBe(backgrounds.get('light'))
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await backgroundOf(page)).toBe(backgrounds.get('dark'))
    await theme.selectOption('light')
    expect(await backgroundOf(page)).toBe(backgrounds.get('light'))
    await closeFaultless()
  })

  /** Returns the name of the focused element, and whether its focus is visible; null at the end of the page. */
  const focusOf = (page: Page): Promise<readonly [name: string, isSeen: boolean] | null> =>
    page.evaluate(`(() => {
      const focused = document.activeElement
      if (focused === document.body) return null
      const { top, bottom } = focused.getBoundingClientRect()
      const ring = [focused, focused.closest('label')].find((one) => one !== null && getComputedStyle(one).outlineStyle !== 'none')
      const name = focused.getAttribute('aria-label') ?? focused.closest('label')?.textContent ?? focused.textContent
      return [name, ring !== undefined && top < innerHeight && bottom > 0]
    })()`)

  test.each(viewsAt(375))(
    'shows the focus at each step of the Tab key, which leaves it at its end: %s, %i px wide',
    async (name, width) => {
      const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, views[name], { width })
      await loaded(page)
      const steps: (readonly [name: string, isSeen: boolean])[] = []
      for (; steps.length < 100;) {
        await page.keyboard.press('Tab')
        const step = await focusOf(page)
        if (step === null) break
        steps.push(step)
      }
      expect(steps.filter(([, isSeen]) => !isSeen)).toEqual([])
      const reached = steps.map(([step]) => step)
      expect(reached.slice(0, 4)).toEqual(['Skip to the content', 'Vaults', 'Strategies', 'Universe'])
      expect(reached.slice(-3)).toEqual(['GraphiQL', 'REST documentation', 'OpenAPI'])
      const controls = await page.locator('a[href], button:enabled, input, select, summary').count()
      expect(reached.length).toBeGreaterThanOrEqual(controls)
      await closeFaultless()
    },
  )

  test('is reached and used by the keyboard alone', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    await loaded(page)
    const focused = () =>
      page.evaluate<string>('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent')
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 60 && (await focused()) !== name; presses++) await page.keyboard.press('Tab')
      expect(await focused()).toBe(name)
    }
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Skip to the content')
    await tabTo('Gain')
    await page.keyboard.press('Enter')
    await page.locator('[aria-sort=descending]', { hasText: 'Gain' }).waitFor()
    await page.keyboard.press('Shift+Tab')
    await tabTo('Download Vaults as CSV')
    const row = await page.getByRole('table').getByRole('link').first().textContent()
    await tabTo(row ?? '')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Vault 0x' }).waitFor()
    expect(await focused()).toMatch(/^Vault 0x/)
    await page.getByRole('button', { name: '7 days' }).waitFor()
    await tabTo('7 days')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: '7 days', pressed: true }).waitFor()
    await tabTo('The points of the chart as a table')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.getByRole('table', { name: 'Equity' }).getByRole('row').count()).toBeGreaterThan(5)
    await page.goBack()
    await expect.poll(() => page.url()).not.toContain('since')
    await closeFaultless()
  })
})
