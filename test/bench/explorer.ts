/**
 * Measures the explorer in Chromium: its first load, its answers to inputs, and its heap over minutes of live updates.
 * The gateway is a process of its own, on PostgreSQL.
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
  heapOf,
  type Interaction,
  measureFirstLoad,
  measureInteraction,
  openFresh,
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

/** Marks of each vault, and of the vault that is opened. */
const [marksEach, marksOfOpened] = [30, 2_000]
const openedVault = addressOf(1)
/** Time in which the browser compiles most of the page's code, which counts as heap. */
const warmUpSeconds = 60
/** Bytes of a megabyte; figures of memory and of transfers are in decimal units. */
const megabyte = 1e6
/** Time of the newest marks. */
let moment = midnight + 60 * marksOfOpened
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

async function measure(browser: Browser, origin: string): Promise<void> {
  const isQuick = values['only-heap'] || (await measureTimes(browser, origin))
  const heaps = await measureHeaps(browser, origin)
  if (!isQuick || heaps.some((ratio) => ratio > goals.heap)) process.exitCode = 1
}

/** Measures the first load and inputs; returns whether they reach their goals. */
async function measureTimes(browser: Browser, origin: string): Promise<boolean> {
  const load = await measureFirstLoad(browser, origin, visits)
  const kilobytes = load.programBytes / 1_000
  console.log(
    `First contentful paint ${load.firstContentfulPaint.toFixed(0)} ms, largest ${load.largestContentfulPaint.toFixed(0)} ms`,
  )
  console.log(`First load ${kilobytes.toFixed(1)} KB, and ${(load.dataBytes / 1_000).toFixed(1)} KB of data`)
  const interactions = await measureInteractions(browser, origin)
  const inColumns = interactions.map(({ name, nextFrame, answer }) => [
    name,
    { 'next frame, ms': nextFrame <= 16 ? 'at most 16' : nextFrame.toFixed(0), 'answer shown, ms': answer.toFixed(0) },
  ])
  console.table(Object.fromEntries(inColumns))
  return (
    load.firstContentfulPaint < goals.paint &&
    kilobytes <= goals.kilobytes &&
    interactions.every(({ nextFrame }) => nextFrame < goals.interaction)
  )
}

/** Inputs on the first page of the list, and with all of its rows on the page. */
async function measureInteractions(browser: Browser, origin: string): Promise<readonly Interaction[]> {
  const page = await openFresh(browser, origin)
  const sort = (column: string) => () => page.getByRole('button', { name: column, exact: true }).click()
  const found: Interaction[] = []
  found.push(await measureInteraction(page, 'sort', sort('Gain')))
  found.push(
    await measureInteraction(page, 'filter by status', () => page.getByRole('checkbox', { name: 'planting' }).check()),
  )
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await scrollToEnd(page, vaults)
  found.push(await measureInteraction(page, `sort, ${vaults} rows on the page`, sort('by strategy')))
  await scrollToEnd(page, vaults)
  const link = page.getByRole('table').getByRole('link').first()
  found.push(await measureInteraction(page, `open a vault, ${vaults} rows on the page`, () => link.click()))
  await page.goto(`${origin}?vault=${openedVault}`)
  await page.locator('.chart canvas').first().waitFor()
  found.push(
    await measureInteraction(page, 'zoom in, 2,000 points', () =>
      page.getByRole('button', { name: 'Zoom in' }).click(),
    ),
  )
  await page.context().close()
  return found
}

/** Heaps of two pages before and after the updates: the list, and a vault that changes. Returns the ratios. */
async function measureHeaps(browser: Browser, origin: string): Promise<readonly number[]> {
  const pages: readonly (readonly [name: string, page: Page])[] = [
    ['list', await openFresh(browser, origin)],
    ['vault', await openFresh(browser, `${origin}?vault=${openedVault}`)],
  ]
  const sessions = await Promise.all(pages.map(([, page]) => page.context().newCDPSession(page)))
  await update(warmUpSeconds)
  const before = await Promise.all(sessions.map(heapOf))
  await update(minutes * 60)
  await wait(3_000)
  const after = await Promise.all(sessions.map(heapOf))
  return pages.map(([name], index) => {
    const [first, last] = [before[index], after[index]]
    if (first === undefined || last === undefined) throw new Error(`The heap of the ${name} was not measured`)
    const told = ([kind, from, to]: readonly [string, number, number]): string =>
      `${kind} ${(from / megabyte).toFixed(2)} to ${(to / megabyte).toFixed(2)} MB (${(to / from).toFixed(2)})`
    const figures = [['all', first.all, last.all] as const, ['without compiled code', first.data, last.data] as const]
    console.log(
      `Heap of the ${name} in ${minutes} minutes of ${updates} updates a second: ${figures.map(told).join(', ')}`,
    )
    return last.all / first.all
  })
}

/** Marks vaults, among them in each second the one that is open. */
async function update(seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000
  for (let next = performance.now(); next < end; next += 1_000) {
    await wait(Math.max(0, next - performance.now()))
    await apply(database, marksOf(updates))
  }
}

function world(): FactInput[] {
  const numbers = Array.from({ length: vaults }, (_, index) => index + 1)
  return [
    strategy('one'),
    ...numbers.flatMap((number) => [
      opened(addressOf(number), 'one'),
      deposit(addressOf(number), midnight + 1, '1000'),
    ]),
    ...numbers.flatMap((number) =>
      Array.from({ length: number === 1 ? marksOfOpened : marksEach }, (_, at) =>
        mark(addressOf(number), midnight + 60 * (at + 1), valueOf(number, at)),
      ),
    ),
  ]
}

function marksOf(count: number): FactInput[] {
  moment += 60
  return Array.from({ length: count }, (_, index) => {
    const number = index === 0 ? 1 : 1 + Math.floor(Math.random() * (vaults - 1))
    return mark(addressOf(number), moment, valueOf(number, moment))
  })
}

/** A value that moves, so that vaults change places in the list. */
function valueOf(number: number, at: number): string {
  return (1_000 + number / 10 + 100 * Math.sin(at / 7 + number)).toFixed(6)
}
