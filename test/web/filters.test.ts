import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { emptyDatabase } from '../support/database.ts'
import { deferred } from '../support/deferred.ts'
import { openExplorer, pageFolders } from '../support/explorer.ts'
import { liveGateway, type LiveGateway } from '../support/live.ts'
import { addressOf, apply, deposit, midnight, opened, strategy } from '../support/world.ts'

const [small, large] = [addressOf(1), addressOf(2)]

describe.skipIf(noBrowser !== null)('the filters of the list of vaults', () => {
  let browser: Browser
  let gateway: LiveGateway

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, [
      strategy('calm'),
      ...[small, large].map((vault, index) => opened(vault, 'calm', midnight + index)),
      deposit(small, midnight + 5, '100'),
      deposit(large, midnight + 6, '5000'),
    ])
    gateway = await liveGateway(database, { pageFolders: await pageFolders() })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await gateway.close()
  })

  test('keep an amount during input, and show why an invalid one is refused', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    await page.getByText('2 vaults', { exact: true }).waitFor()
    const field = page.getByRole('textbox', { name: 'Least value in USD', exact: true })
    const statusResponse = page.waitForResponse(
      (response) => response.request().postData()?.includes('DataStatus') === true,
    )
    await field.pressSequentially('1,000')
    // The page renders again after the response with the state of the data.
    await statusResponse
    await statusResponse.then(() => page.waitForTimeout(200))
    expect(await field.inputValue()).toBe('1,000')
    await page.keyboard.press('Enter')
    const refusal = page.getByRole('alert').filter({ hasText: 'without separators' })
    await refusal.waitFor()
    expect([await field.inputValue(), await field.getAttribute('aria-invalid')]).toEqual(['1,000', 'true'])
    expect(page.url()).not.toContain('least')
    await field.fill('1000')
    await refusal.waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await page.getByText('1 vault', { exact: true }).waitFor()
    expect(page.url()).toContain('least=1000')
    expect(await field.evaluate((element) => element === document.activeElement)).toBe(true)
    await page.goBack()
    await page.getByText('2 vaults', { exact: true }).waitFor()
    expect(await field.inputValue()).toBe('')
    await field.fill('-1')
    await page.getByRole('checkbox', { name: 'planting' }).check()
    expect(await field.inputValue()).toBe('-1')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect.poll(() => field.inputValue()).toBe('')
    expect(await page.getByRole('alert').count()).toBe(0)
    await closeFaultless()
  })

  /** Holds the requests of an operation until they are released. */
  async function holding(page: Page, operation: string): Promise<() => void> {
    const { promise, resolve } = deferred()
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes(`query ${operation}`) === true) await promise
      await route.continue()
    })
    return resolve
  }

  async function search(page: Page, text: string): Promise<void> {
    await page.getByRole('searchbox', { name: 'Vault, owner or strategy' }).fill(text)
    await page.keyboard.press('Enter')
  }

  test('do not lead to a vault that was searched for before another page was opened', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    const release = await holding(page, 'Search(')
    await search(page, small)
    await page.getByText('Searching…').waitFor()
    await page.getByRole('link', { name: 'Strategies' }).click()
    await page.getByRole('article', { name: 'The calm' }).waitFor()
    const found = page.waitForResponse((response) => response.request().postData()?.includes('query Search(') === true)
    release()
    await (await found).finished()
    await page.waitForTimeout(200)
    expect(page.url()).toContain('view=strategies')
    await closeFaultless()
  })

  test('do not lead to a vault that was searched for before another', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    const release = await holding(page, 'Search(')
    await search(page, small)
    await page.getByText('Searching…').waitFor()
    await search(page, '0xfffffff')
    await page.getByText('No address like this.').waitFor()
    const found = page.waitForResponse((response) => response.request().postData()?.includes('query Search(') === true)
    release()
    await (await found).finished()
    await page.waitForTimeout(200)
    expect(await page.getByText('No address like this.').count()).toBe(1)
    await closeFaultless()
  })

  test('do not report an unknown strategy before the strategies are loaded', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, `?vault=${small}`)
    await page.getByText('1 row', { exact: true }).waitFor()
    const release = await holding(page, 'StrategyNames')
    await page.getByRole('link', { name: 'Vaults', exact: true }).click()
    await search(page, 'calm')
    await page.getByText('The strategies are still loading: search again in a moment.').waitFor()
    release()
    await page.getByRole('option', { name: 'The calm' }).waitFor({ state: 'attached' })
    await search(page, 'calm')
    await expect.poll(() => page.url()).toContain('strategy=calm')
    await closeFaultless()
  })
})
