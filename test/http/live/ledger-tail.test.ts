import { setImmediate } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import {
  createLedgerLog,
  type LedgerPosition,
  type StreamedCommit,
  type StreamedRow,
} from '../../../src/graphql/ledger-log.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createFanOut } from '../../../src/http/live/delivery/fan-out.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../../src/http/live/delivery/unsent-frames.ts'
import { LedgerFollower } from '../../../src/http/live/ledger/ledger-follower.ts'
import { LedgerTail } from '../../../src/http/live/ledger/ledger-tail.ts'
import { RowFrames } from '../../../src/http/live/ledger/row-frames.ts'
import { type LiveLimits, liveLimits } from '../../../src/limits/live.ts'
import { emptyDatabase } from '../../support/database.ts'
import { addressOf, apply, event, midnight, opened, strategy } from '../../support/world.ts'

const nothing = (): void => undefined
const behind = (seq: number): LedgerPosition => ({ seq, version: `${seq}.1`, rows: null })
const rowsEach = 2

/** A tail of commits of two rows, with numbers from 2 on; those up to a number that the test changes are there. */
function tailOf(limits: Partial<LiveLimits>, newest: { seq: number }) {
  const data = new DataVersions()
  data.listening(true)
  const commits = (after: number): StreamedCommit[] =>
    Array.from({ length: newest.seq - after }, (_, at) => {
      const seq = after + at + 1
      return { seq, version: `${seq}.1`, rows: Array.from({ length: rowsEach }, () => ({}) as never) }
    })
  const log = {
    end: vi.fn(() => Promise.resolve(behind(newest.seq))),
    after: vi.fn(({ seq }: LedgerPosition) => Promise.resolve({ commits: commits(seq), isEnd: true })),
  }
  const tail = new LedgerTail({ log, data, limits: { ...liveLimits, ...limits }, fanOut: createFanOut(10, 10) })
  const commit = (): void => {
    data.committed({ version: `${newest.seq}.1`, newestTs: null })
    tail.wake()
  }
  return { tail, log, commit }
}

/** A promise, and what resolves it. */
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
  tail.add({ advance: nothing, loseTouch: nothing })
  commit()
  await vi.waitFor(() => expect(tail.end?.seq).toBe(1))
  newest.seq = 10
  commit()
  await vi.waitFor(() => expect(tail.end?.seq).toBe(10))
  const found = [6, 7, 8, 9].map((seq) => tail.after(behind(seq)))
  // What follows a commit is known where the commit itself is in memory.
  const isKnown = [6, 7, 8, 9].map((seq) => seq > 10 - kept)
  expect(found.map((following) => following !== 'old')).toEqual(isKnown)
  expect(tail.after(behind(10))).toBeNull()
})

test('streams that begin read the end of the log a few at once, and those of one client half of these', async () => {
  const { tail, log, commit } = tailOf({ ledgerReads: 4 }, { seq: 1 })
  commit()
  const { opened, open } = gate()
  log.end.mockImplementation(async () => {
    await opened
    return behind(1)
  })
  const ofOne = Array.from({ length: 5 }, () => tail.now('one'))
  await setImmediate()
  expect(log.end).toHaveBeenCalledTimes(2)
  const ofOthers = Array.from({ length: 5 }, (_, at) => tail.now(`other ${at}`))
  await setImmediate()
  expect(log.end).toHaveBeenCalledTimes(4)
  open()
  expect(await Promise.all([...ofOne, ...ofOthers])).toHaveLength(10)
  expect(log.end).toHaveBeenCalledTimes(10)
})

test('old rows are read a few streams at once, and none for those that have closed before their turn', async () => {
  const { tail, log, commit } = tailOf({ ledgerReads: 2 }, { seq: 5 })
  commit()
  const { opened, open } = gate()
  log.after.mockImplementation(async () => {
    await opened
    return { commits: [], isEnd: true }
  })
  log.after.mockClear()
  let isClosed = false
  const taken = vi.fn(() => Promise.resolve())
  const senders = Array.from({ length: 5 }, (_, at) => `sender ${at}`)
  const reads = senders.map((sender) => tail.read(sender, behind(1), null, () => !isClosed, taken))
  await setImmediate()
  expect(log.after).toHaveBeenCalledTimes(2)
  isClosed = true
  open()
  await Promise.all(reads)
  expect(log.after).toHaveBeenCalledTimes(2)
  expect(taken).toHaveBeenCalledTimes(5)
})

test('a page of the log has a limited number of rows, unless one commit has more', async () => {
  const database = await emptyDatabase()
  const vault = addressOf(1)
  await apply(database, [strategy('calm'), opened(vault, 'calm')])
  const log = createLedgerLog(database)
  let position = await log.end()
  const { ledgerRows: most } = liveLimits
  let now = midnight
  for (const rows of [most / 2, most / 2, 1, most + 1, 1]) {
    const details = { type: 'harvest', amountUsd: '1', positionId: 'p' } as const
    await apply(
      database,
      Array.from({ length: rows }, () => event(vault, ++now, details)),
    )
  }
  const pages: number[][] = []
  for (let isEnd = false; !isEnd;) {
    const page = await log.after(position, null)
    if (typeof page === 'string') throw new Error(`There is no page: ${page}`)
    pages.push(page.commits.map(({ rows }) => rows.length))
    const last = page.commits.at(-1)
    position = { seq: last?.seq ?? NaN, version: last?.version ?? '', rows: null }
    isEnd = page.isEnd
  }
  expect(pages).toEqual([[most / 2, most / 2], [1], [most + 1], [1]])
})

test.each([
  ['short', 500, 32],
  ['long', 100_000, 2],
  ['longer than all that are made at once', 400_000, 1],
])('%s rows are made a few at once, the first one alone', async (_length, bytes, most) => {
  const rows = Array.from({ length: 100 }, (_, at) => ({ cursor: `2.1.${at + 1}` }) as StreamedRow)
  const data = new DataVersions()
  data.listening(true)
  data.committed({ version: '2.1', newestTs: null })
  const log = {
    end: () => Promise.resolve(behind(2)),
    after: () => Promise.resolve({ commits: [{ seq: 2, version: '2.1', rows }], isEnd: true }),
  }
  const tail = new LedgerTail({ log, data, limits: liveLimits, fanOut: createFanOut(10, 10) })
  let [making, written] = [0, 0]
  const atOnce: number[] = []
  const frame = async (): Promise<Buffer> => {
    atOnce.push(++making)
    await setImmediate()
    making--
    return Buffer.alloc(bytes)
  }
  const sink = { unsentBytes: 0, awaitsDrain: false, write: () => void written++ }
  const none = { end: nothing, destroy: nothing, onDrain: nothing, onClose: nothing }
  const connection = new LiveConnection({ ...sink, ...none }, liveLimits, 'one', new UnsentFrames(1))
  const filter = { vaults: null, types: null }
  const [staleFrame, freshFrame] = [Buffer.alloc(0), Buffer.alloc(0)]
  const format = { name: 'test', frame, staleFrame, freshFrame, reset: () => ({ frame: staleFrame, isEnd: true }) }
  new LedgerFollower({
    ...{ tail, sender: 'one', frames: new RowFrames(1e9), connection, filter, format, data },
    ...{ position: behind(1), onDelivery: nothing },
  })
  await vi.waitFor(() => expect(written).toBe(rows.length))
  expect([atOnce[1], Math.max(...atOnce)]).toEqual([1, most])
})
