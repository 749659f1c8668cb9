import { setTimeout as wait } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { LedgerPosition, StreamedCommit, StreamedRow } from '../../../src/graphql/ledger-log.ts'
import type { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { LedgerFollower } from '../../../src/http/live/ledger/ledger-follower.ts'
import type { LedgerTail } from '../../../src/http/live/ledger/ledger-tail.ts'
import { RowFrames } from '../../../src/http/live/ledger/row-frames.ts'
import { liveLimits } from '../../../src/limits/live.ts'

const rowCount = 3 * liveLimits.rowsAtOnce
const commit: StreamedCommit = {
  seq: 1,
  version: '1.1',
  // Nothing here reads more of a row.
  rows: Array.from({ length: rowCount }, (_, at) => ({ cursor: `1.1.${at + 1}` }) as StreamedRow),
}

/** The rows of one commit behind a position, as the tail gives them from memory. */
const after = ({ rows, seq }: LedgerPosition) =>
  seq === 1 && rows === null ? null : { commits: [{ ...commit, rows: commit.rows.slice(rows ?? 0) }] }

/** Follows the rows of the commit, each of which takes so long to make. */
function follow(milliseconds: number) {
  /** When each row was begun, and when it was written. */
  const begun: number[] = []
  const written: number[] = []
  let close = (): void => undefined
  const connection = new LiveConnection(
    {
      unsentBytes: 0,
      write: () => void written.push(performance.now()),
      end: () => undefined,
      destroy: () => close(),
      onClose: (closed) => (close = closed),
      onDrain: () => undefined,
    },
    liveLimits,
  )
  const nothing = Buffer.alloc(0)
  new LedgerFollower({
    connection,
    tail: { add: () => () => undefined, wake: () => undefined, after } as unknown as LedgerTail,
    data: { isListening: true } as DataVersions,
    frames: new RowFrames(liveLimits.frameBytes),
    filter: { vaults: null, types: null },
    format: {
      ...{ name: 'slow', staleFrame: nothing, freshFrame: nothing, reset: () => ({ frame: nothing, isEnd: true }) },
      async frame() {
        begun.push(performance.now())
        await wait(milliseconds)
        return nothing
      },
    },
    position: { seq: 0, version: '0.0', rows: null },
    onDelivery: () => undefined,
  })
  return { begun, written, connection }
}

test('a stream whose rows take long to make rests between them, and loses none', { timeout: 20_000 }, async () => {
  const took = liveLimits.rowsMilliseconds + 10
  const { begun, written } = follow(took)
  await vi.waitFor(() => expect(written).toHaveLength(rowCount), { timeout: 15_000 })
  expect(begun).toHaveLength(rowCount)
  for (let at = liveLimits.rowsAtOnce; at < rowCount; at += liveLimits.rowsAtOnce) {
    expect((begun[at] ?? 0) - (written[at - 1] ?? 0)).toBeGreaterThan((liveLimits.pushFactor - 1) * took)
  }
})

test('a stream that is closed while it rests makes no more rows', async () => {
  const { begun, written, connection } = follow(liveLimits.rowsMilliseconds)
  await vi.waitFor(() => expect(written).toHaveLength(liveLimits.rowsAtOnce), { timeout: 5_000 })
  connection.destroy('end')
  await wait(10)
  expect(begun).toHaveLength(liveLimits.rowsAtOnce)
})
