/**
 * Takes screenshots of the explorer's views on the demo world, in both themes and on a phone, into .screenshots/, and the
 * two of the README.
 */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { notifyAll } from '../../src/cli/gateway.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { openBrowser } from '../support/browser.ts'
import { createDatabase } from '../support/database.ts'
import { pageFolders } from '../support/explorer.ts'
import { gatewayOn } from '../support/gateway.ts'
import { serverOf } from '../support/server.ts'
import { apply } from '../support/world.ts'

const folder = path.resolve(import.meta.dirname, '../../.screenshots')
const images = path.resolve(import.meta.dirname, '../../src/web/images')
const looks = [
  { name: 'light', colorScheme: 'light', width: 1_000, height: 640 },
  { name: 'dark', colorScheme: 'dark', width: 1_000, height: 640 },
  { name: 'phone', colorScheme: 'light', width: 360, height: 720 },
] as const

const database = await createDatabase()
await apply(database, demoFacts(Math.floor(Date.now() / 1000)))
const cache = createResponseCache(4 * 1024 * 1024)
const versions = new DataVersions()
const { app, query } = gatewayOn(database, { cache, versions, pageFolders: await pageFolders() })
const { stop } = await database.listen(notifyAll(cache, versions, app.live))
const server = await serverOf(app)
const browser = await openBrowser()
const { vaults } = await query<{ vaults: { nodes: { address: string; status: string }[] } }>(
  '{ vaults { nodes { address status } } }',
)
const ofVaults = vaults.nodes.map(
  ({ address, status }) => [`vault-${status.toLowerCase()}`, `?vault=${address}`] as const,
)
const views = [['vaults', ''], ...ofVaults, ['strategies', '?view=strategies'], ['universe', '?view=universe']] as const

await mkdir(folder, { recursive: true })
for (const { name, colorScheme, width, height } of looks) {
  for (const [view, search] of views) {
    const page = await open(search, { colorScheme, viewport: { width, height } })
    await page.screenshot({ path: path.join(folder, `${view}-${name}.png`) })
    await page.screenshot({ path: path.join(folder, `${view}-${name}-whole.png`), fullPage: true })
    await page.close()
  }
}
for (const [image, search, colorScheme, panel] of [
  ['vaults', '', 'light', 'Vaults'],
  ['vault', `?vault=${vaults.nodes[0]?.address ?? ''}`, 'dark', 'Equity'],
] as const) {
  const page = await open(search, { colorScheme, viewport: { width: 1_000, height: 900 }, deviceScaleFactor: 0.75 })
  await page.getByRole('region', { name: panel }).screenshot({ path: path.join(images, `${image}.png`) })
  await page.close()
}
await browser.close()
app.live.endAll()
await server.close()
await stop()
await database.close()
console.log(`The pictures are in ${folder}`)

/** Opens a view, and waits until it has its data. */
async function open(search: string, options: BrowserContextOptions): Promise<Page> {
  const page = await browser.newPage({ ...options, locale: 'en-US' })
  await page.goto(`${server.origin}/${search}`)
  await page
    .getByText(/^Newest fact/)
    .first()
    .waitFor()
  await page.locator('[aria-busy=false]').last().waitFor()
  if (search.startsWith('?vault=')) await page.locator('.chart canvas').first().waitFor()
  await page.waitForTimeout(300)
  return page
}
