import type { Browser, CDPSession, Page } from 'playwright-core'
import { quantile } from '../../reliability/program-result.ts'

/** Times of a first visit, in milliseconds since the navigation started, and its transfer sizes. */
export interface FirstLoad {
  readonly firstContentfulPaint: number
  readonly largestContentfulPaint: number
  /** Compressed bytes of the page, its scripts and styles. */
  readonly programBytes: number
  /** Compressed bytes of the responses to its queries. */
  readonly dataBytes: number
}

/**
 * Latency of an input in milliseconds.
 * @see https://www.w3.org/TR/event-timing/
 */
export interface Interaction {
  readonly name: string
  /** Until the next frame, as Event Timing reports it. */
  readonly nextFrame: number
  /** Until the page shows the gateway's response. */
  readonly answer: number
}

/** Minimum duration that Event Timing reports, in milliseconds. */
const minReportedDuration = 16

/** Script of each page: collects event timings, and measures the time from an input until the page is no longer busy. */
const observers = `
  window.eventTimings = []
  window.largestPaint = 0
  new PerformanceObserver((list) => window.eventTimings.push(...list.getEntries().filter((entry) => entry.interactionId)))
    .observe({ type: 'event', durationThreshold: ${minReportedDuration}, buffered: true })
  new PerformanceObserver((list) => (window.largestPaint = list.getEntries().at(-1).startTime))
    .observe({ type: 'largest-contentful-paint', buffered: true })
  for (const type of ['pointerdown', 'keydown']) addEventListener(type, (event) => {
    let hasBegun = false
    window.responseShown = new Promise((resolve) => {
      const check = () => {
        const isBusy = document.querySelector('[aria-busy=true]') !== null
        hasBegun ||= isBusy
        if (hasBegun && !isBusy) resolve(performance.now() - event.timeStamp)
        else requestAnimationFrame(check)
      }
      requestAnimationFrame(check)
    })
  }, { capture: true })
`

/** Opens a page in a new browser context, whose cache is empty, and waits until its data is loaded. */
export async function openWithEmptyCache(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, locale: 'en-US' })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.addInitScript(observers)
  await page.goto(url)
  await page.locator('main data').first().waitFor()
  await waitUntilLoaded(page)
  return page
}

/** Measures several first visits, and returns the median of each value. */
export async function measureFirstLoad(browser: Browser, url: string, visits: number): Promise<FirstLoad> {
  const loads: FirstLoad[] = []
  for (let visit = 0; visit < visits; visit++) {
    const page = await openWithEmptyCache(browser, url)
    await page.waitForTimeout(500)
    loads.push(await page.evaluate<FirstLoad>(firstLoad))
    await page.context().close()
  }
  const median = (field: keyof FirstLoad): number =>
    quantile(
      loads.map((load) => load[field]),
      0.5,
    )
  return {
    firstContentfulPaint: median('firstContentfulPaint'),
    largestContentfulPaint: median('largestContentfulPaint'),
    programBytes: median('programBytes'),
    dataBytes: median('dataBytes'),
  }
}

/** Expression that evaluates to the {@link FirstLoad} of a page. */
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

/** Measures one input; `nextFrame` is the longest of its events, and at least the minimum that Event Timing reports. */
export async function measureInteraction(page: Page, name: string, input: () => Promise<void>): Promise<Interaction> {
  await page.evaluate('window.eventTimings.length = 0')
  await input()
  const answer = await page.evaluate<number>('window.responseShown')
  await page.waitForTimeout(500)
  const durations = await page.evaluate<number[]>('window.eventTimings.map(({ duration }) => duration)')
  await waitUntilLoaded(page)
  return { name, answer, nextFrame: Math.max(minReportedDuration, ...durations) }
}

/** Scrolls to the end of the list until all rows are loaded, and back to its beginning. */
export async function scrollToEnd(page: Page, rows: number): Promise<void> {
  const last = page.getByRole('table', { name: 'Vaults' }).getByRole('row').last()
  // The first row is the head of the table.
  while (Number(await last.getAttribute('aria-rowindex')) < rows + 1) {
    await page.mouse.wheel(0, 100_000)
    await page.waitForTimeout(20)
  }
  await page.mouse.wheel(0, -10_000_000)
  await waitUntilLoaded(page)
}

/** Waits until no request is pending. `page.waitForFunction` can't be used: the page's CSP forbids `eval`. */
async function waitUntilLoaded(page: Page): Promise<void> {
  while (await page.evaluate("document.querySelector('[aria-busy=true]') !== null")) await page.waitForTimeout(20)
}

/** Size of a page's JavaScript heap after garbage collection, in bytes. */
export interface HeapSize {
  readonly all: number
  /** Without compiled code. */
  readonly data: number
}

/** Fields of V8's heap snapshot format that contain the sizes of nodes. */
interface HeapSnapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly [readonly string[]] }
  }
  readonly nodes: readonly number[]
}

/** Types of nodes that are not data of the page: compiled code, and memory outside of the heap. */
const typesWithoutData = ['code', 'object shape', 'native', 'hidden', 'synthetic']

/** Collects garbage, and measures the heap of a page. */
export async function measureHeap(session: CDPSession): Promise<HeapSize> {
  for (let time = 0; time < 3; time++) await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  const chunks: string[] = []
  const keep = ({ chunk }: { chunk: string }): void => void chunks.push(chunk)
  session.on('HeapProfiler.addHeapSnapshotChunk', keep)
  await session.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false })
  session.off('HeapProfiler.addHeapSnapshotChunk', keep)
  return { all: usedSize, data: sumDataBytes(JSON.parse(chunks.join('')) as HeapSnapshot) }
}

function sumDataBytes({ snapshot: { meta }, nodes }: HeapSnapshot): number {
  const [types] = meta.node_types
  const [typeAt, sizeAt] = [meta.node_fields.indexOf('type'), meta.node_fields.indexOf('self_size')]
  let bytes = 0
  for (let node = 0; node < nodes.length; node += meta.node_fields.length) {
    const type = types[nodes[node + typeAt] ?? 0] ?? ''
    if (!typesWithoutData.includes(type)) bytes += nodes[node + sizeAt] ?? 0
  }
  return bytes
}
