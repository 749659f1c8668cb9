import type { Browser, Response } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { emptyDatabase } from '../support/database.ts'
import { openExplorer, pageFolders } from '../support/explorer.ts'
import { liveGateway, type LiveGateway } from '../support/live.ts'
import { apply, midnight } from '../support/world.ts'

/** Panels by their view, each with a text of its result. */
const panels = [
  ['?status=suspended&sort=net_usd', { Vaults: '"status":"SUSPENDED"' }],
  [
    '?vault=VAULT&types=deposit',
    {
      Figures: '"suspension":{',
      Equity: '"marketDeltaUsd":',
      Positions: '"inRange":true',
      Fees: '"highWaterUsd":',
      Ledger: '"totalCount":1',
    },
  ],
  ['?view=strategies', { Catalogue: '"name":"Ether Core"' }],
  ['?view=universe&category=meme&asset=WETH', { Assets: '"symbol":"PEPE"', Pairs: '"b":"USDC"' }],
] as const

describe.skipIf(noBrowser !== null)('a panel of the explorer', () => {
  let browser: Browser
  let gateway: LiveGateway
  let vault: string

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, demoFacts(midnight))
    gateway = await liveGateway(database, { pageFolders: await pageFolders() })
    browser = await openBrowser()
    const { vaults } = await gateway.query<{ vaults: { nodes: { address: string }[] } }>(
      '{ vaults(where: { status: SUSPENDED }) { nodes { address } } }',
    )
    vault = vaults.nodes[0]?.address ?? ''
  })
  afterAll(async () => {
    await browser.close()
    await gateway.close()
  })

  const cases = panels.flatMap(([query, texts]) => Object.entries(texts).map(([name, text]) => [name, query, text]))
  test.each(cases as [string, string, string][])(
    'is opened in GraphiQL, which runs its query with its variables: %s',
    async (name, query, text) => {
      const { page, closeFaultless } = await openExplorer(browser, gateway.server.origin, query.replace('VAULT', vault))
      await page.getByRole('link', { name: `Open ${name} in GraphiQL` }).click()
      const run = page.getByRole('button', { name: /^Execute query/ })
      await run.waitFor()
      const isOfQuery = (response: Response): boolean =>
        response.request().method() === 'POST' && response.request().postData()?.includes('Introspection') === false
      const [response] = await Promise.all([page.waitForResponse(isOfQuery), run.click()])
      const answer = await response.text()
      expect(answer).toContain(text)
      expect(answer).not.toContain('"errors"')
      await expect.poll(() => page.locator('.graphiql-response').textContent()).toContain('"data"')
      await closeFaultless()
    },
  )
})
