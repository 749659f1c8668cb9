import { beforeEach, describe, expect, test } from 'vitest'
import { ReplayProof } from '../../../../src/database/postgresql/replicas/replay-proof.ts'
import { ReportedState } from '../../../../src/database/postgresql/replicas/reported-state.ts'
import { chooseReplica, reasonToLeave } from '../../../../src/database/postgresql/replicas/choose-replica.ts'

const head = { seq: 1, version: '1.1' }
const target = (at: number, lsn: number) => ({ at, lsn: BigInt(lsn), insertLsn: BigInt(lsn), head, run: 'first' })

/** Records that a replica with all commits has replayed up to a position. */
function replayed(proof: ReplayProof, lsn: bigint, now: number) {
  const reached = proof.reachedBy(lsn)
  if (reached !== null) proof.prove(reached, now)
  return reached
}

describe('the proof of a replica', () => {
  let proof: ReplayProof
  beforeEach(() => {
    proof = new ReplayProof()
  })

  test('is the time before the newest position that it has replayed', () => {
    for (const [at, lsn] of [
      [0, 10],
      [500, 20],
      [1_000, 30],
    ] as const) {
      proof.expect(target(at, lsn))
    }
    expect(replayed(proof, 9n, 1_001)).toBeNull()
    expect(proof.provenAt).toBeNull()
    expect(replayed(proof, 29n, 1_002)).toEqual(target(500, 20))
    expect(proof.provenAt).toBe(500)
    expect(replayed(proof, 29n, 1_003)).toBeNull()
    expect(replayed(proof, 30n, 1_004)).toEqual(target(1_000, 30))
    expect(proof.provenAt).toBe(1_000)
  })

  test('does not apply to statements that were sent before it', () => {
    proof.expect(target(100, 10))
    replayed(proof, 10n, 110)
    proof.expect(target(600, 20))
    replayed(proof, 20n, 640)
    expect([639, 640].map((sentAt) => proof.provenBefore(sentAt))).toEqual([100, 600])
  })

  test('waits for a limited number of positions, including the newest', () => {
    for (let at = 0; at < 2_000; at++) proof.expect(target(at, at))
    replayed(proof, 2_000n, 2_000)
    expect(proof.provenAt).toBe(1_999)
  })

  test('waits for no position of another timeline', () => {
    proof.expect(target(0, 10))
    proof.forgetTargets()
    expect(replayed(proof, 10n, 1)).toBeNull()
  })
})

describe('the reported state', () => {
  const later = { at: Infinity, lsn: 1n, insertLsn: 1n, head, run: 'second' }
  const before = { seq: 0, version: '' }

  test('never goes back', () => {
    const reported = new ReportedState()
    expect([reported.proven(null), reported.proven(5), reported.proven(3), reported.proven(null)]).toEqual([
      null,
      5,
      5,
      5,
    ])
  })

  test.each([
    ['lost', later, false, null],
    ['there', later, true, head],
    ['not known', later, null, head],
    ['not shown yet by the run of the primary that made it', { ...later, head: before, run: 'first' }, false, head],
    ['replaced by another one of the same run', { ...later, run: 'first' }, false, null],
    ['newer than the query to the primary', { ...later, at: 0 }, false, head],
  ] as const)('is forgotten only where a failover has lost it: %s', async (_, target, contains, left) => {
    const reported = new ReportedState()
    reported.committed(head.version, 'first')
    await reported.verify(target, () => Promise.resolve(contains))
    expect(reported.head).toEqual(left)
  })
})

describe('the choice', () => {
  const limits = { stale: 60_000, lagging: 10_000 }
  const fit = (ageMilliseconds: number) => ({ problem: null, ageMilliseconds, isPrimary: false })
  const unfit = { problem: 'does not answer', ageMilliseconds: 0, isPrimary: false }
  const primary = { ...fit(0), isPrimary: true }

  test('is the first of those that are about as fresh as the freshest', () => {
    const second = fit(900)
    expect(chooseReplica([unfit, fit(5_000), second, fit(400)], limits)).toBe(second)
    expect(chooseReplica([unfit, fit(60_001), fit(Infinity)], limits)).toBeUndefined()
  })

  test('is the primary only where no standby is fresh', () => {
    const standby = fit(5_000)
    expect(chooseReplica([primary, standby], limits)).toBe(standby)
    expect(chooseReplica([fit(10_001), primary, unfit], limits)).toBe(primary)
  })

  test.each([
    ['it fails', unfit, [fit(0)], 'does not answer'],
    ['it is too old', fit(60_001), [], 'has data that is 60 s old'],
    ['it lags and another is fresher', fit(10_001), [fit(5_000)], 'lags 10 s behind'],
    ['it lags as the others do', fit(10_001), [fit(6_000), unfit], null],
    ['it does not lag', fit(9_999), [fit(0)], null],
    ['it is the primary and a standby is fresh', primary, [unfit, fit(10_000)], 'is the primary'],
    ['it is the primary and no standby is fresh', primary, [unfit, fit(10_001)], null],
  ])('is changed where %s', (_, current, others, reason) => {
    expect(reasonToLeave(current, others, limits)).toBe(reason)
  })
})
