import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import { Canceller } from '../../../src/database/cancellation.ts'
import { DatabaseUnavailable, ReadCancelled } from '../../../src/database/errors.ts'
import { expect, test, vi } from 'vitest'
import {
  type CommitPage,
  createLedgerLog,
  type LedgerLog,
  type LedgerPosition,
  type NoCommits,
  type StreamedCommit,
  type StreamedRow,
} from '../../../src/graphql/ledger-log.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createFanOut } from '../../../src/http/live/delivery/fan-out.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../../src/http/live/delivery/unsent-frames.ts'
import { LedgerSubscriber, type StartPosition } from '../../../src/http/live/ledger/ledger-subscriber.ts'
import { LedgerTail } from '../../../src/http/live/ledger/ledger-tail.ts'
import { RowFrames } from '../../../src/http/live/ledger/row-frames.ts'
import { RowNotReady } from '../../../src/http/live/ledger/row-failures.ts'
import { ledgerLogLimits, type LiveLimits, liveLimits } from '../../../src/limits/live.ts'
import { heapBytes } from '../../support/heap.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { addressOf, apply, event, midnight, opened, strategy } from '../../support/world.ts'

const nothing = (): void => undefined
const behind = (seq: number): LedgerPosition => ({ seq, version: `${seq}.1`, rows: null })
const rowsEach = 2
const rowsOf = (seq: number, length: number): StreamedRow[] =>
  Array.from({ length }, (_, at) => ({ cursor: `${seq}.1.${at + 1}` }) as StreamedRow)

const commitsAfter = (after: number, newest: number): StreamedCommit[] =>
  Array.from({ length: newest - after }, (_, at) => {
    const seq = after + at + 1
    return { seq, version: `${seq}.1`, rows: rowsOf(seq, rowsEach) }
  })

/** Returns the page of these commits, if any. */
function pageWith(commits: readonly StreamedCommit[]): CommitPage | NoCommits {
  const last = commits.at(-1)
  return last === undefined ? { kind: 'none' } : { kind: 'commits', commits, end: behind(last.seq), isEnd: true }
}

const pageAfter = (after: number, newest: number) => pageWith(commitsAfter(after, newest))

/** Creates a tail of commits of two rows, with numbers from 2; the test sets the newest number. */
function tailOf(limits: Partial<LiveLimits>, newest: { seq: number }) {
  const versions = new DataVersions()
  versions.listening(true)
  const log = {
    end: vi.fn(() => Promise.resolve(behind(newest.seq))),
    after: vi.fn(({ seq }: LedgerPosition) => Promise.resolve(pageAfter(seq, newest.seq))),
  }
  const report = vi.fn()
  const tail = new LedgerTail({
    log,
    versions,
    limits: { ...liveLimits, ...limits },
    fanOut: createFanOut(10, 10),
    report,
  })
  const commit = (): void => {
    versions.committed({ version: `${newest.seq}.1`, newestTs: null })
    tail.wake()
  }
  return { tail, log, commit, versions, report }
}

/** Resolves when a tail has read the commits up to a number. */
async function isReadTo(tail: LedgerTail, seq: number): Promise<void> {
  await expect.poll(() => tail.commitsInMemory(behind(seq)).kind).toBe('none')
}

/** Returns a promise, and the function that resolves it. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = nothing
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

test.each([
  [3 * (1 + rowsEach), 3],
  [3 * (1 + rowsEach) - 1, 2],
  [1, 1],
])('of the newest commits and rows, %i are in memory, but always the newest commit', async (ledgerWindow, kept) => {
  const newest = { seq: 1 }
  const { tail, commit } = tailOf({ ledgerWindow }, newest)
  tail.add({ advance: nothing, onListeningStopped: nothing, sendStale: nothing })
  commit()
  await isReadTo(tail, 1)
  newest.seq = 10
  commit()
  await isReadTo(tail, 10)
  const found = [6, 7, 8, 9].map((seq) => tail.commitsInMemory(behind(seq)))
  // The next commit is known if the commit itself is in memory.
  const isKnown = [6, 7, 8, 9].map((seq) => seq > 10 - kept)
  expect(found.map(({ kind }) => kind)).toEqual(isKnown.map((known) => (known ? 'commits' : 'notInMemory')))
})

test('new streams read the end of the log with limited concurrency, those of one client with half of it', async () => {
  const { tail, log, commit } = tailOf({ ledgerReads: 4 }, { seq: 1 })
  commit()
  const { opened, open } = gate()
  log.end.mockImplementation(async () => {
    await opened
    return behind(1)
  })
  const ofOne = Array.from({ length: 5 }, () => tail.readEnd('one'))
  await setImmediate()
  expect(log.end).toHaveBeenCalledTimes(2)
  const ofOthers = Array.from({ length: 5 }, (_, at) => tail.readEnd(`other ${at}`))
  await setImmediate()
  expect(log.end).toHaveBeenCalledTimes(4)
  open()
  expect(await Promise.all([...ofOne, ...ofOthers])).toHaveLength(10)
  expect(log.end).toHaveBeenCalledTimes(10)
})

test('an unexpected failure to read the end of the log is reported, once until it is read', async () => {
  const { tail, log, report } = tailOf({}, { seq: 0 })
  const fails = (): Promise<void> => expect(tail.readEnd('one')).rejects.toThrow()
  log.end.mockRejectedValue(new DatabaseUnavailable('away'))
  await fails()
  expect(report).toHaveBeenCalledTimes(0)
  log.end.mockRejectedValue(new Error('42P01'))
  await fails()
  await fails()
  expect(report).toHaveBeenCalledTimes(1)
  log.end.mockResolvedValueOnce(behind(0))
  await tail.readEnd('one')
  await fails()
  expect(report).toHaveBeenCalledTimes(2)
})

test('old rows are read for a limited number of streams at once, and not for those that have closed before their turn', async () => {
  const { tail, log, commit } = tailOf({ ledgerReads: 2 }, { seq: 5 })
  const closing = new Canceller()
  commit()
  const { opened, open } = gate()
  log.after.mockImplementation(async () => {
    await opened
    return { kind: 'none' } as const
  })
  log.after.mockClear()
  const taken = vi.fn(() => Promise.resolve())
  const senders = Array.from({ length: 5 }, (_, at) => `sender ${at}`)
  const reads = senders.map((sender) => tail.readPage(sender, behind(1), null, closing, taken))
  await setImmediate()
  expect(log.after).toHaveBeenCalledTimes(2)
  closing.abort()
  // They do not wait for the reads that run.
  for (const read of reads.slice(2)) await expect(read).rejects.toThrow(ReadCancelled)
  open()
  await Promise.all(reads.slice(0, 2))
  expect(log.after).toHaveBeenCalledTimes(2)
  expect(taken).toHaveBeenCalledTimes(2)
})

test.each(['end', 'after'] as const)(
  'streams that close wait for no read of the log (%s), and cause none',
  async (method) => {
    const { tail, log, commit, versions, report } = tailOf({ ledgerWindow: 1 }, { seq: 5 })
    commit()
    follow(tail, versions, 'reader', behind(5), row)
    await isReadTo(tail, 5)
    const { opened, open } = gate()
    log[method].mockClear()
    const readCount = (): number =>
      (method === 'end' ? log.end.mock.calls : log.after.mock.calls.filter(([{ seq }]) => seq === 1)).length
    if (method === 'end') log.end.mockImplementation(() => opened.then(() => behind(5)))
    else log.after.mockImplementation(({ seq }) => opened.then(() => pageAfter(seq, 5)))
    const start = method === 'end' ? 'malformed' : behind(1)
    for (let times = 0; times < 100; times++) {
      const { close } = follow(tail, versions, 'one', start, row)
      await setImmediate()
      close()
    }
    const running = readCount()
    expect(running).toBeLessThan(10)
    const late = follow(tail, versions, 'one', start, row)
    await setImmediate()
    open()
    await vi.waitFor(() => expect(late.written).not.toEqual([]))
    // That of the last stream is the only one since.
    expect(readCount()).toBe(running + 1)
    expect(report).toHaveBeenCalledTimes(0)
  },
)

test('a page of the log has a limited number of commits and rows, of a commit with more a part', async () => {
  const database = await emptyDatabase()
  const vault = addressOf(1)
  await apply(database, [strategy('calm'), opened(vault, 'calm')])
  const maxCommits = 10
  const log = createLedgerLog(database, { ...ledgerLogLimits, rows: maxCommits })
  const start = await log.end()
  let now = midnight
  for (const rows of [maxCommits / 2, maxCommits / 2, 1, maxCommits + 1, 1]) {
    const details = { type: 'harvest', amountUsd: '1', positionId: 'p' } as const
    await apply(
      database,
      Array.from({ length: rows }, () => event(vault, ++now, details)),
    )
  }
  expect(await pagesOf(log, start)).toEqual([[maxCommits / 2, maxCommits / 2], [1], [maxCommits], [1], [1]])
  const whole = [[maxCommits / 2, maxCommits / 2], [1], [maxCommits + 1], [1]]
  expect(await pagesOf(log, start, 'whole commits')).toEqual(whole)
  const oneByOne = createLedgerLog(database, { ...ledgerLogLimits, commits: 1 })
  expect(await pagesOf(oneByOne, start)).toEqual([[maxCommits / 2], [maxCommits / 2], [1], [maxCommits + 1], [1]])
})

test('a commit with more rows than a page is read in parts, from any of its rows on, and to its end', async () => {
  const database = await emptyDatabase()
  const vault = addressOf(1)
  await apply(database, [strategy('calm'), opened(vault, 'calm')])
  const rows = 25
  const harvests = Array.from({ length: rows }, (_, at) =>
    event(vault, midnight + 1 + at, { type: 'harvest', amountUsd: '1', positionId: 'p' }),
  )
  await apply(database, harvests)
  const end = await createLedgerLog(database).end()
  for (let before = 0; before <= rows; before++) {
    const read: number[] = []
    const counting: Pick<TestDatabase, 'query'> = {
      query: async (...asked) => {
        const found = await database.query(...asked)
        if (asked[0].name.startsWith('ledger_rows')) read.push(found.length)
        return found as never
      },
    }
    const log = createLedgerLog(counting, { ...ledgerLogLimits, rows: 10 })
    const cursors: string[] = []
    let position: LedgerPosition = { ...end, rows: before }
    for (let page = await log.after(position, null); page.kind === 'commits'; page = await log.after(position, null)) {
      cursors.push(...page.commits.flatMap((commit) => commit.rows.map(({ cursor }) => cursor)))
      position = page.end
    }
    const expected = Array.from({ length: rows - before }, (_, at) => `${end.version ?? ''}.${before + at + 1}`)
    expect([cursors, position]).toEqual([expected, end])
    expect(Math.max(0, ...read)).toBeLessThanOrEqual(10)
  }
})

/** Reads all pages after a position, and returns the numbers of rows of their commits. */
async function pagesOf(log: LedgerLog, start: LedgerPosition, only?: 'whole commits'): Promise<number[][]> {
  const pages: number[][] = []
  for (let position: LedgerPosition | null = start; position !== null;) {
    const page = await log.after(position, null, only)
    if (page.kind === 'none') break
    if (page.kind !== 'commits') throw new Error(`There is no page: ${page.kind}`)
    pages.push(page.commits.map(({ rows }) => rows.length))
    position = page.isEnd ? null : page.end
  }
  return pages
}

/** Returns the page after a position, which has the rows of commit 2. */
function pageOf(rows: readonly StreamedRow[], { seq, rows: before }: LedgerPosition) {
  return pageWith(seq === 2 && before === null ? [] : [{ seq: 2, version: '2.1', rows: rows.slice(before ?? 0) }])
}

type Frame = (row: StreamedRow) => Promise<Buffer>

/** Has a client follow the rows after a position. @returns the frames that it gets, and whether it reads */
function follow(
  tail: LedgerTail,
  versions: DataVersions,
  sender: string,
  position: StartPosition,
  frame: Frame,
  limits: LiveLimits = liveLimits,
) {
  const written: string[] = []
  const drained: (() => void)[] = []
  let close = nothing
  const sink = {
    unsentBytes: 0,
    end: nothing,
    destroy: nothing,
    onClose: (callback: () => void) => (close = callback),
    write: (bytes: Buffer) => void written.push(bytes.toString('latin1', 0, 10)),
    onDrain: (callback: () => void) => void drained.push(callback),
  }
  const connection = new LiveConnection(sink, limits, sender, new UnsentFrames(1))
  const [staleFrame, freshFrame] = [Buffer.from('stale'), Buffer.from('fresh')]
  const reset = () => ({ frame: Buffer.from('reset'), isEnd: true })
  new LedgerSubscriber({
    limits,
    tail,
    sender,
    frames: new RowFrames({ ...limits, frameBytes: 1e9 }),
    pace: { produce: (group) => group() },
    connection,
    filter: { vaults: null, types: null },
    versions,
    position,
    format: { name: sender, sender, frame, staleFrame, freshFrame, reset },
    onDelivery: nothing,
  })
  const read = (): void => {
    sink.unsentBytes = 0
    for (const callback of drained.splice(0)) callback()
  }
  return { written, pause: () => void (sink.unsentBytes = Infinity), read, close: () => close() }
}

test.each([
  ['short', 500, {}, 32],
  ['long', 100_000, {}, 2],
  ['longer than all that are made at once', 400_000, {}, 1],
  ['short, by another limit,', 500, { rowsAtOnce: 5 }, 5],
  ['long, by another limit,', 100_000, { rowBytesAtOnce: 300_000 }, 3],
])('%s rows are made a few at once, the first one alone', async (_length, bytes, limits: Partial<LiveLimits>, most) => {
  const rows = rowsOf(2, 100)
  const { tail, log, versions } = tailOf({}, { seq: 2 })
  versions.committed({ version: '2.1', newestTs: null })
  log.after.mockImplementation((position) => Promise.resolve(pageOf(rows, position)))
  let making = 0
  const atOnce: number[] = []
  const frame = async (): Promise<Buffer> => {
    atOnce.push(++making)
    await setImmediate()
    making--
    return Buffer.alloc(bytes)
  }
  const { written } = follow(tail, versions, 'one', behind(1), frame, { ...liveLimits, ...limits })
  await vi.waitFor(() => expect(written).toHaveLength(rows.length), 20_000)
  expect([atOnce[1], Math.max(...atOnce)]).toEqual([1, most])
})

const row: Frame = () => Promise.resolve(Buffer.from('row'))

test.each([
  ['an unexpected error', new Error('42P01'), 1],
  ['an outage', new DatabaseUnavailable('away'), 0],
])('clients are told that rows are late while they cannot be read because of %s', async (_, error, reports) => {
  const newest = { seq: 1 }
  const { tail, log, commit, versions, report } = tailOf({}, newest)
  commit()
  const clients = ['reader', 'paused'].map((sender) => follow(tail, versions, sender, behind(1), row))
  const [reader, paused] = clients
  await isReadTo(tail, 1)
  paused?.pause()
  log.after.mockRejectedValue(error)
  newest.seq = 2
  commit()
  await expect.poll(() => reader?.written).toEqual(['stale'])
  await expect.poll(() => log.after.mock.calls.length).toBeGreaterThan(3)
  expect(report).toHaveBeenCalledTimes(reports)
  expect(paused?.written).toEqual([])
  paused?.read()
  await expect.poll(() => paused?.written).toEqual(['stale'])
  log.after.mockImplementation(({ seq }) => Promise.resolve(pageAfter(seq, 2)))
  for (const each of clients) {
    await expect.poll(() => each.written).toEqual(['stale', 'row', 'row', 'fresh'])
  }
})

test('older rows that cannot be read are reported once, and read again after pauses that grow', async () => {
  const newest = { seq: 3 }
  const { tail, log, commit, versions, report } = tailOf({ ledgerWindow: 1 }, newest)
  commit()
  const error = new Error('XX001: invalid page in block 7')
  log.after.mockImplementation(({ seq }) =>
    seq === 1 ? Promise.reject(error) : Promise.resolve(pageAfter(seq, newest.seq)),
  )
  const readCount = (): number => log.after.mock.calls.filter(([{ seq }]) => seq === 1).length
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const clients = ['one', 'other'].map((sender) => follow(tail, versions, sender, behind(1), row))
    const settled = async (milliseconds: number): Promise<void> => {
      vi.advanceTimersByTime(milliseconds)
      for (let times = 0; times < 20; times++) await setImmediate()
    }
    await settled(0)
    const counts = [readCount()]
    for (const seconds of [1, 2, 4, 8]) {
      // New commits are independent of the rows that cannot be read.
      newest.seq++
      commit()
      await settled(1_000 * seconds - 100)
      counts.push(readCount())
      await settled(100)
      counts.push(readCount())
    }
    expect(counts).toEqual([2, 2, 4, 4, 6, 6, 8, 8, 10])
    expect(clients.map(({ written }) => written)).toEqual([['stale'], ['stale']])
    const message = 'Ledger rows after 1.1 cannot be read: the streams of these rows wait, and try again.'
    expect(report.mock.calls).toEqual([[expect.objectContaining({ message, cause: error })]])
    log.after.mockImplementation(({ seq }) => Promise.resolve(pageAfter(seq, newest.seq)))
    await settled(60_000)
    for (const { written } of clients) expect(written.at(-1)).toBe('fresh')
    expect(new Set(clients.map(({ written }) => written.join()))).toHaveProperty('size', 1)
  } finally {
    vi.useRealTimers()
  }
})

test.each([
  ['that have just come', 2],
  ['that are older', 3],
])('rows %s and cannot be produced are reported once, and produced again after pauses that grow', async (_, seq) => {
  const newest = { seq: 1 }
  const { tail, commit, versions, report } = tailOf({ ledgerWindow: 1 }, newest)
  commit()
  const error = new Error('XX001: invalid page in block 7')
  const frame = vi.fn<Frame>(() => Promise.reject(error))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const settled = async (milliseconds: number): Promise<void> => {
      vi.advanceTimersByTime(milliseconds)
      for (let times = 0; times < 20; times++) await setImmediate()
    }
    const { written } = follow(tail, versions, 'one', behind(1), frame)
    await settled(0)
    newest.seq = seq
    commit()
    await settled(0)
    const counts = [frame.mock.calls.length]
    for (const seconds of [1, 2, 4, 8]) {
      commit()
      await settled(1_000 * seconds - 100)
      counts.push(frame.mock.calls.length)
      await settled(100)
      counts.push(frame.mock.calls.length)
    }
    expect(counts).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5])
    const message = expect.stringMatching(
      /^The ledger row 2\.1\.1 of vault .* cannot be produced: the streams of these/,
    ) as string
    expect(report.mock.calls).toEqual([[expect.objectContaining({ message, cause: error })]])
    // The outage ends.
    frame.mockRejectedValue(new RowNotReady())
    await settled(16_000)
    frame.mockClear()
    await settled(1_000)
    await settled(1_000)
    expect(frame).toHaveBeenCalledTimes(2)
    frame.mockImplementation(row)
    await settled(1_000)
    const rows = Array.from({ length: (seq - 1) * rowsEach }, () => 'row')
    expect(written).toEqual(['stale', ...rows, 'fresh'])
    frame.mockRejectedValue(error)
    newest.seq++
    commit()
    await settled(0)
    expect(report).toHaveBeenCalledTimes(2)
  } finally {
    vi.useRealTimers()
  }
})

test('a row that cannot be produced delays the rows after it, and none before it', async () => {
  const newest = { seq: 1 }
  const { tail, commit, versions, report } = tailOf({}, newest)
  commit()
  const bad = new Error('is damaged')
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  const frame = vi.fn<Frame>(({ cursor }) => {
    if (cursor.startsWith('4.') || cursor === '5.1.2') return Promise.reject(bad)
    return Promise.resolve(Buffer.from(cursor))
  })
  const { written } = follow(tail, versions, 'one', behind(1), frame)
  await isReadTo(tail, 1)
  newest.seq = 5
  commit()
  await expect.poll(() => written).toContain('stale')
  expect(written).toEqual(['2.1.1', '2.1.2', '3.1.1', '3.1.2', 'stale'])
  // From the second row on, several rows are produced concurrently.
  expect(frame.mock.calls.some(([{ cursor }]) => cursor === '5.1.1')).toBe(true)
  const message = expect.stringMatching(/^The ledger row 4\.1\.1 of vault /) as string
  expect(report.mock.calls).toEqual([[expect.objectContaining({ message, cause: bad })]])
  frame.mockImplementation(({ cursor }) => Promise.resolve(Buffer.from(cursor)))
  await expect.poll(() => written).toContain('fresh')
  expect(written.slice(5)).toEqual(['4.1.1', '4.1.2', '5.1.1', '5.1.2', 'fresh'])
  expect(unhandled).not.toHaveBeenCalled()
  process.off('unhandledRejection', unhandled)
})

test('a client whose stream was full gets the notice of stale data when it reads again', async () => {
  const { tail, commit, versions } = tailOf({}, { seq: 1 })
  commit()
  const client = follow(tail, versions, 'one', behind(1), row)
  await isReadTo(tail, 1)
  client.pause()
  versions.listening(false)
  tail.onListeningStopped()
  await setImmediate()
  await setImmediate()
  client.read()
  await expect.poll(() => client.written).toEqual(['stale'])
})

test('a stream that waits for an old row yields its turn to others, and retains no other rows', async () => {
  const { tail, log, commit, versions } = tailOf({ ledgerReads: 1, ledgerProductionMilliseconds: 20 }, { seq: 2 })
  commit()
  const pages: WeakRef<object>[] = []
  log.after.mockImplementation((position) => {
    const page = pageOf(rowsOf(2, 10), position)
    if (page.kind === 'commits') pages.push(...page.commits.map((each) => new WeakRef(each)))
    return Promise.resolve(page)
  })
  const { opened, open } = gate()
  const heldStream = follow(tail, versions, 'held', behind(1), async () => {
    await opened
    return Buffer.from('row')
  })
  const other = follow(tail, versions, 'other', behind(1), row)
  await expect.poll(() => other.written).toHaveLength(10)
  expect(heldStream.written).toEqual([])
  log.after.mockClear()
  // A weak reference keeps its object until the next task.
  await setImmediate()
  heapBytes()
  expect(pages.map((page) => page.deref())).toEqual(pages.map(() => undefined))
  open()
  await expect.poll(() => heldStream.written).toHaveLength(10)
  // Its first row was in production, and the others are read again.
  expect(log.after.mock.calls.map(([{ rows }]) => rows)).toContain(1)
})

test('a stream whose old rows take long to produce yields its turn to others before the last row', async () => {
  const { tail, log, commit, versions } = tailOf({ ledgerReads: 1 }, { seq: 2 })
  commit()
  const rows = rowsOf(2, 100)
  log.after.mockImplementation((position) => Promise.resolve(pageOf(rows, position)))
  const slow = follow(tail, versions, 'slow', behind(1), async () => {
    await wait(20)
    return Buffer.alloc(liveLimits.rowBytesAtOnce)
  })
  await expect.poll(() => slow.written.length).toBeGreaterThan(0)
  const other = follow(tail, versions, 'other', behind(1), row)
  await vi.waitFor(() => expect(other.written.length).toBeGreaterThan(0), { timeout: 20_000, interval: 2 })
  expect(slow.written.length).toBeLessThan(rows.length)
  await vi.waitFor(() => expect(slow.written).toHaveLength(rows.length), 20_000)
})
