/**
 * Measures the explorer in Chromium: its first load, the latency of interactions, and the growth of its heap during live
 * updates. The gateway is a separate process on PostgreSQL. Exits with status 1 if a goal is not reached.
 *   npm run bench:explorer [-- --vaults 2000 --visits 5 --minutes 10 --updates 20 --only-heap]
 */
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { openPostgreSql } from '../../src/database/postgresql/database.ts'
import { migrate } from '../../src/database/prisma/migrations.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { startGateway } from '../reliability/gateway.ts'
import { openBrowser } from '../support/browser.ts'
import { createOnServer } from '../support/database.ts'
import { startOwnPostgreSql } from '../support/own-postgresql.ts'
import { addressOf, apply, deposit, mark, midnight, opened, strategy } from '../support/world.ts'
import {
  type Interaction,
  measureFirstLoad,
  measureHeap,
  measureInteraction,
  openWithEmptyCache,
  scrollToEnd,
} from './explorer/measure.ts'

const { values } = parseArgs({
  options: {
    vaults: { type: 'string', default: '2000' },
    visits: { type: 'string', default: '5' },
    minutes: { type: 'string', default: '10' },
    updates: { type: 'string', default: '20' },
    'only-heap': { type: 'boolean', default: false },
  },
})
const [vaults, visits] = [Number(values.vaults), Number(values.visits)]
const [minutes, updates] = [Number(values.minutes), Number(values.updates)]

/** Number of marks of each vault, and of the vault whose page is opened. */
const [marksPerVault, marksOfOpenedVault] = [30, 2_000]
const openedVault = addressOf(1)
/** Duration of updates before the first measurement, in which V8 compiles most of the page's code: that is part of the heap. */
const warmUpSeconds = 60
/** Bytes of a megabyte: memory and transfers are printed in decimal units. */
const megabyte = 1e6
/** Unix seconds of the newest marks. */
let newestSeconds = midnight + 60 * marksOfOpenedVault
/** Maxima: milliseconds, kilobytes, and the ratio of the heap after the updates to that before. */
const goals = { paint: 1_000, interaction: 100, kilobytes: 150, heap: 1.2 }

const server = await startOwnPostgreSql()
const url = await createOnServer(server.url)
const database = await openPostgreSql(url, 3)
try {
  await migrate(database)
  await apply(database, world())
  const gateway = await startGateway([], { DATABASE_URL: url })
  const browser = await openBrowser()
  try {
    await measure(browser, `http://127.0.0.1:${gateway.port}/`)
  } finally {
    await browser.close()
    await gateway.kill()
  }
} finally {
  await database.close()
  await server.remove()
}

/** Runs all measurements, and sets the exit status. */
async function measure(browser: Browser, origin: string): Promise<void> {
  const reachesTimes = values['only-heap'] || (await measureTimes(browser, origin))
  const heaps = await measureHeaps(browser, origin)
  if (!reachesTimes || heaps.some((ratio) => ratio > goals.heap)) process.exitCode = 1
}

/** Measures and prints the first load and the interactions; returns whether they reach their goals. */
async function measureTimes(browser: Browser, origin: string): Promise<boolean> {
  const load = await measureFirstLoad(browser, origin, visits)
  const kilobytes = load.programBytes / 1_000
  console.log(
    `First contentful paint ${load.firstContentfulPaint.toFixed(0)} ms, largest ${load.largestContentfulPaint.toFixed(0)} ms`,
  )
  console.log(`First load ${kilobytes.toFixed(1)} KB, and ${(load.dataBytes / 1_000).toFixed(1)} KB of data`)
  const interactions = await measureInteractions(browser, origin)
  const rows = interactions.map(({ name, nextFrame, answer }) => [
    name,
    {
      'next frame, ms': nextFrame <= 16 ? 'at most 16' : nextFrame.toFixed(0),
      'response on the page, ms': answer.toFixed(0),
    },
  ])
  console.table(Object.fromEntries(rows))
  return (
    load.firstContentfulPaint < goals.paint &&
    kilobytes <= goals.kilobytes &&
    interactions.every(({ nextFrame }) => nextFrame < goals.interaction)
  )
}

/** Measures interactions with the first page of the list, with all of its rows loaded, and with a chart. */
async function measureInteractions(browser: Browser, origin: string): Promise<readonly Interaction[]> {
  const page = await openWithEmptyCache(browser, origin)
  const sort = (column: string) => () => page.getByRole('button', { name: column, exact: true }).click()
  const measured: Interaction[] = []
  measured.push(await measureInteraction(page, 'sort', sort('Gain')))
  measured.push(
    await measureInteraction(page, 'filter by status', () => page.getByRole('checkbox', { name: 'planting' }).check()),
  )
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await scrollToEnd(page, vaults)
  measured.push(await measureInteraction(page, `sort, ${vaults} rows on the page`, sort('by strategy')))
  await scrollToEnd(page, vaults)
  const link = page.getByRole('table').getByRole('link').first()
  measured.push(await measureInteraction(page, `open a vault, ${vaults} rows on the page`, () => link.click()))
  await page.goto(`${origin}?vault=${openedVault}`)
  await page.locator('.chart canvas').first().waitFor()
  measured.push(
    await measureInteraction(page, 'zoom in, 2,000 points', () =>
      page.getByRole('button', { name: 'Zoom in' }).click(),
    ),
  )
  await page.context().close()
  return measured
}

/** Measures and prints the heaps of two pages, of the list and of a vault, before and after updates; returns the ratios. */
async function measureHeaps(browser: Browser, origin: string): Promise<readonly number[]> {
  const pages: readonly (readonly [name: string, page: Page])[] = [
    ['list', await openWithEmptyCache(browser, origin)],
    ['vault', await openWithEmptyCache(browser, `${origin}?vault=${openedVault}`)],
  ]
  const sessions = await Promise.all(pages.map(([, page]) => page.context().newCDPSession(page)))
  await update(warmUpSeconds)
  const before = await Promise.all(sessions.map(measureHeap))
  await update(minutes * 60)
  await wait(3_000)
  const after = await Promise.all(sessions.map(measureHeap))
  return pages.map(([name], index) => {
    const [first, last] = [before[index], after[index]]
    if (first === undefined || last === undefined) throw new Error(`The heap of the ${name} was not measured`)
    const describe = ([kind, from, to]: readonly [string, number, number]): string =>
      `${kind} ${(from / megabyte).toFixed(2)} to ${(to / megabyte).toFixed(2)} MB (${(to / from).toFixed(2)})`
    const parts = [['all', first.all, last.all] as const, ['without compiled code', first.data, last.data] as const]
    console.log(
      `Heap of the ${name} in ${minutes} minutes of ${updates} updates a second: ${parts.map(describe).join(', ')}`,
    )
    return last.all / first.all
  })
}

/** Applies marks each second: of the opened vault, and of random others. */
async function update(seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000
  for (let next = performance.now(); next < end; next += 1_000) {
    await wait(Math.max(0, next - performance.now()))
    await apply(database, marksOf(updates))
  }
}

/** Facts of a strategy and its vaults, with a deposit and marks each. */
function world(): FactInput[] {
  const numbers = Array.from({ length: vaults }, (_, index) => index + 1)
  return [
    strategy('one'),
    ...numbers.flatMap((number) => [
      opened(addressOf(number), 'one'),
      deposit(addressOf(number), midnight + 1, '1000'),
    ]),
    ...numbers.flatMap((number) =>
      Array.from({ length: number === 1 ? marksOfOpenedVault : marksPerVault }, (_, at) =>
        mark(addressOf(number), midnight + 60 * (at + 1), valueOf(number, at)),
      ),
    ),
  ]
}

/** Returns marks at the next minute: one of the opened vault, the others of random ones. */
function marksOf(count: number): FactInput[] {
  newestSeconds += 60
  return Array.from({ length: count }, (_, index) => {
    const number = index === 0 ? 1 : 1 + Math.floor(Math.random() * (vaults - 1))
    return mark(addressOf(number), newestSeconds, valueOf(number, newestSeconds))
  })
}

/** Returns a value that varies with time, so that the order of vaults in the list changes. */
function valueOf(number: number, at: number): string {
  return (1_000 + number / 10 + 100 * Math.sin(at / 7 + number)).toFixed(6)
}
