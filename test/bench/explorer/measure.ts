import type { Browser, CDPSession, Page } from 'playwright-core'
import { quantile } from '../../reliability/show.ts'

/** Times of a first visit, in milliseconds since its request, and what it loads. */
export interface FirstLoad {
  readonly firstContentfulPaint: number
  readonly largestContentfulPaint: number
  /** Bytes of the page, its scripts and styles, compressed. */
  readonly programBytes: number
  /** Bytes of the answers to its queries, compressed. */
  readonly dataBytes: number
}

/** Milliseconds from an input: to the next frame, as Event Timing has it, and to the answer of the gateway on the screen. */
export interface Interaction {
  readonly name: string
  readonly nextFrame: number
  readonly answer: number
}

/** Shortest duration that Event Timing tells. */
const shortestTold = 16

const observers = `
  window.eventTimings = []
  window.largestPaint = 0
  new PerformanceObserver((list) => window.eventTimings.push(...list.getEntries().filter((entry) => entry.interactionId)))
    .observe({ type: 'event', durationThreshold: ${shortestTold}, buffered: true })
  new PerformanceObserver((list) => (window.largestPaint = list.getEntries().at(-1).startTime))
    .observe({ type: 'largest-contentful-paint', buffered: true })
  for (const type of ['pointerdown', 'keydown']) addEventListener(type, (event) => {
    let hasBegun = false
    window.answered = new Promise((resolve) => {
      const look = () => {
        const isBusy = document.querySelector('[aria-busy=true]') !== null
        hasBegun ||= isBusy
        if (hasBegun && !isBusy) resolve(performance.now() - event.timeStamp)
        else requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
    })
  }, { capture: true })
`

/** Opens a page in a context of its own, which has nothing in its cache. */
export async function openFresh(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, locale: 'en-US' })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.addInitScript(observers)
  await page.goto(url)
  await page.locator('main data').first().waitFor()
  await settled(page)
  return page
}

/** Measures first visits, and returns the median of each figure. */
export async function measureFirstLoad(browser: Browser, url: string, visits: number): Promise<FirstLoad> {
  const loads: FirstLoad[] = []
  for (let visit = 0; visit < visits; visit++) {
    const page = await openFresh(browser, url)
    await page.waitForTimeout(500)
    loads.push(await page.evaluate<FirstLoad>(firstLoad))
    await page.context().close()
  }
  const median = (figure: keyof FirstLoad): number =>
    quantile(
      loads.map((load) => load[figure]),
      0.5,
    )
  return {
    firstContentfulPaint: median('firstContentfulPaint'),
    largestContentfulPaint: median('largestContentfulPaint'),
    programBytes: median('programBytes'),
    dataBytes: median('dataBytes'),
  }
}

const firstLoad = `(() => {
  const bytes = (entries) => entries.reduce((sum, { transferSize }) => sum + transferSize, 0)
  const resources = performance.getEntriesByType('resource')
  const isData = ({ initiatorType }) => initiatorType === 'fetch'
  return {
    firstContentfulPaint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    largestContentfulPaint: window.largestPaint,
    programBytes: bytes([...performance.getEntriesByType('navigation'), ...resources.filter((entry) => !isData(entry))]),
    dataBytes: bytes(resources.filter(isData)),
  }
})()`

/** Measures one input: the longest of its events, where any is as long as Event Timing tells. */
export async function measureInteraction(page: Page, name: string, input: () => Promise<void>): Promise<Interaction> {
  await page.evaluate('window.eventTimings.length = 0')
  await input()
  const answer = await page.evaluate<number>('window.answered')
  await page.waitForTimeout(500)
  const durations = await page.evaluate<number[]>('window.eventTimings.map(({ duration }) => duration)')
  await settled(page)
  return { name, answer, nextFrame: Math.max(shortestTold, ...durations) }
}

/** Loads all rows of the list, as a visitor who scrolls to its end does. */
export async function scrollToEnd(page: Page, rows: number): Promise<void> {
  const last = page.getByRole('table', { name: 'Vaults' }).getByRole('row').last()
  // The first row is the head of the table.
  while (Number(await last.getAttribute('aria-rowindex')) < rows + 1) {
    await page.mouse.wheel(0, 100_000)
    await page.waitForTimeout(20)
  }
  await page.mouse.wheel(0, -10_000_000)
  await settled(page)
}

/** Waits until nothing is loaded. The page's policy keeps the browser from evaluating a condition again by itself. */
async function settled(page: Page): Promise<void> {
  while (await page.evaluate("document.querySelector('[aria-busy=true]') !== null")) await page.waitForTimeout(20)
}

/** Bytes of a page's heap, its garbage collected: all of it, and that of it which is no code that the browser compiled. */
export interface Heap {
  readonly all: number
  readonly data: number
}

/** The parts of a heap snapshot that tell the sizes of what is in it. */
interface HeapSnapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly [readonly string[]] }
  }
  readonly nodes: readonly number[]
}

/** Types of a heap snapshot's nodes that are not the page's data: code, and what the browser has outside of the heap. */
const otherTypes = ['code', 'object shape', 'native', 'hidden', 'synthetic']

/** Measures the heap of a page. */
export async function heapOf(session: CDPSession): Promise<Heap> {
  for (let time = 0; time < 3; time++) await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  const chunks: string[] = []
  const keep = ({ chunk }: { chunk: string }): void => void chunks.push(chunk)
  session.on('HeapProfiler.addHeapSnapshotChunk', keep)
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  session.off('HeapProfiler.addHeapSnapshotChunk', keep)
  return { all: usedSize, data: bytesOfData(JSON.parse(chunks.join('')) as HeapSnapshot) }
}

function bytesOfData({ snapshot: { meta }, nodes }: HeapSnapshot): number {
  const [types] = meta.node_types
  const [typeAt, sizeAt] = [meta.node_fields.indexOf('type'), meta.node_fields.indexOf('self_size')]
  let bytes = 0
  for (let node = 0; node < nodes.length; node += meta.node_fields.length) {
    const type = types[nodes[node + typeAt] ?? 0] ?? ''
    if (!otherTypes.includes(type)) bytes += nodes[node + sizeAt] ?? 0
  }
  return bytes
}
