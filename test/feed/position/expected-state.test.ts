import { describe, expect, test } from 'vitest'
import {
  advanceState,
  CommitsLost,
  type ExpectedState,
  mayLose,
  requireExpectedState,
} from '../../../src/feed/position/expected-state.ts'
import { parseLine } from '../../../src/feed/fact/parse-line.ts'
import { mark, midnight, vaultA } from '../../support/world.ts'

const position = (line: number) => ({ line, byte: line * 100, fingerprint: `f${line}` })
const bytes = Buffer.from(JSON.stringify(mark(vaultA, midnight, '1')))
const line = parseLine({ bytes, length: bytes.length }, position(9))

/** A run after writers side by side have applied all so far. */
const afterRound: ExpectedState = {
  startsAfter: undefined,
  lastPosition: position(8),
  factsKnownLast: [],
  factsAppliedLast: [],
  versionOfKnown: '5.ab',
}
const after = (status: 'applied' | 'skipped' | 'rejected') =>
  advanceState(afterRound, { lastPosition: position(9), versions: {} }, [line], [{ status, kind: 'mark' } as never])

async function isAccepted(expected: ExpectedState, known: boolean, commit: boolean): Promise<boolean> {
  try {
    await requireExpectedState(expected, {
      stored: position(3),
      position: position(10),
      areKnown: () => Promise.resolve(known),
      hasCommit: () => Promise.resolve(commit),
    })
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(CommitsLost)
    return false
  }
}

describe('the commits of writers side by side are proved', () => {
  test.each([
    ['by the last of them', afterRound],
    ['by it and the lines behind it, which brought nothing new', after('skipped')],
    ['by it, behind bad lines', after('rejected')],
  ])('%s', async (_how, expected) => {
    expect(mayLose(expected)).toBe(true)
    expect(await isAccepted(expected, true, true)).toBe(true)
    expect(await isAccepted(expected, true, false)).toBe(false)
  })

  test('by new facts of a later commit, when its own is forgotten', async () => {
    expect(await isAccepted(after('applied'), true, false)).toBe(true)
    expect(await isAccepted(after('applied'), false, true)).toBe(false)
  })
})

describe('facts that a source left out because they were applied', () => {
  const beginning: ExpectedState = {
    startsAfter: undefined,
    lastPosition: undefined,
    factsKnownLast: [],
    factsAppliedLast: [],
  }
  const left: ExpectedState = { ...beginning, versionOfUncovered: '5.ab' }
  const unmoved: ExpectedState = { ...left, startsAfter: position(3), lastPosition: position(3) }

  test.each([
    ['by a source at its beginning', left],
    ['by one whose position is as it was', unmoved],
    [
      'before known ones',
      advanceState(
        unmoved,
        { lastPosition: position(3), versions: {} },
        [line],
        [{ status: 'skipped', kind: 'mark' } as never],
      ),
    ],
  ])('%s, are proved by the newest commit of then', async (_how, expected) => {
    expect(mayLose(expected)).toBe(true)
    expect(await isAccepted(expected, true, true)).toBe(true)
    expect(await isAccepted(expected, true, false)).toBe(false)
  })

  test('are proved by new facts, when that commit is forgotten', async () => {
    const applied = advanceState(
      left,
      { lastPosition: position(9), versions: {} },
      [line],
      [{ status: 'applied', kind: 'mark' } as never],
    )
    expect(await isAccepted(applied, true, false)).toBe(true)
    expect(await isAccepted(applied, false, true)).toBe(false)
  })
})

test('facts whose position did not move are proved by a commit, also where the response to theirs was lost', async () => {
  const beginning: ExpectedState = {
    startsAfter: undefined,
    lastPosition: undefined,
    factsKnownLast: [],
    factsAppliedLast: [],
  }
  // The second attempt has found them known, and the first one has applied them.
  const versions = { versionOfKnown: '6.cd', versionOfUncovered: '6.cd' }
  const reached = { lastPosition: position(3), versions }
  const repeated = advanceState(beginning, reached, [line], [{ status: 'applied', kind: 'mark' } as never])
  expect(await isAccepted(repeated, true, true)).toBe(true)
  expect(await isAccepted(repeated, false, false)).toBe(false)
})
