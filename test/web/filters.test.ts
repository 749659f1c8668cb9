import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { emptyDatabase } from '../support/database.ts'
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

  test('keep an amount while it is written, and tell why one is refused', async () => {
    const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin)
    await page.getByText('2 vaults', { exact: true }).waitFor()
    const field = page.getByRole('textbox', { name: 'Least value in USD', exact: true })
    const asked = page.waitForResponse((response) => response.request().postData()?.includes('DataStatus') === true)
    await field.pressSequentially('1,000')
    // The page renders again when the state of the data is known.
    await asked
    await asked.then(() => page.waitForTimeout(200))
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
})
