import { beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { apply, deposit, mark, midnight, opened, strategy, vaultA, vaultB } from '../support/world.ts'

interface Point {
  readonly ts: number
  readonly valueUsd: number
  readonly capitalInUsd: number
  readonly capitalOutUsd: number
}

const hour = 3_600
/** More points than the default. */
const recordedMarks = 700
const spikeAt = 333

/** A sawtooth wave with one spike. */
function valueAt(index: number): number {
  return index === spikeAt ? 5_000 : 1_000 + (index % 7)
}

let gateway: TestGateway
let recorded: Point[]

beforeAll(async () => {
  const database = await emptyDatabase()
  const marks = Array.from({ length: recordedMarks }, (_, index) => ({
    ts: midnight + (index + 1) * hour,
    valueUsd: valueAt(index + 1),
    capitalInUsd: 1_000,
    capitalOutUsd: 0,
  }))
  recorded = [{ ts: midnight, valueUsd: 1_000, capitalInUsd: 1_000, capitalOutUsd: 0 }, ...marks]
  await apply(database, [
    strategy('one'),
    opened(vaultA, 'one'),
    deposit(vaultA, midnight, '1000'),
    ...marks.map(({ ts, valueUsd }) => mark(vaultA, ts, String(valueUsd))),
    opened(vaultB, 'one'),
    deposit(vaultB, midnight, '1000'),
    deposit(vaultB, midnight + hour, '9000', '1001'),
  ])
  gateway = gatewayOn(database)
})

async function equity(query = '', vault = vaultA): Promise<Point[]> {
  const response = await gateway.get(`/vault/${vault}/equity${query}`)
  expect(response.status).toBe(200)
  return (await response.json()) as Point[]
}

describe('a span of time', () => {
  const tenth = midnight + 10 * hour
  const twentieth = midnight + 20 * hour

  test('includes since and excludes until', async () => {
    const span = await equity(`?since=${String(tenth)}&until=${String(twentieth)}`)
    expect(span).toEqual(recorded.slice(10, 20))
  })

  test('begins after a point that is a second older', async () => {
    const [first] = await equity(`?since=${String(tenth + 1)}`)
    expect(first?.ts).toBe(tenth + hour)
  })

  test('includes a point that is a second older than until', async () => {
    const last = (await equity(`?until=${String(twentieth + 1)}`)).at(-1)
    expect(last?.ts).toBe(twentieth)
  })

  test('is empty if since equals until', async () => {
    expect(await equity(`?since=${String(tenth)}&until=${String(tenth)}`)).toEqual([])
  })

  test('is downsampled from its own points only', async () => {
    const span = await equity(`?since=${String(tenth)}&until=${String(twentieth)}&points=3`)
    expect(span).toHaveLength(3)
    expect([span[0], span[2]]).toEqual([recorded[10], recorded[19]])
  })
})

describe('points', () => {
  const byTime = (): Map<number, Point> => new Map(recorded.map((point) => [point.ts, point]))

  test.each([2, 3, 10, 499, 500, 700])('have the requested number: %i', async (points) => {
    const served = await equity(`?points=${String(points)}`)
    expect(served).toHaveLength(points)
    expect([served[0], served.at(-1)]).toEqual([recorded[0], recorded.at(-1)])
  })

  test.each([2, 3, 10, 499, 700])('are recorded ones only, in order of time: %i', async (points) => {
    const served = await equity(`?points=${String(points)}`)
    const known = byTime()
    for (const point of served) expect(point).toEqual(known.get(point.ts))
    const times = served.map(({ ts }) => ts)
    expect(times).toEqual([...new Set(times)].sort((a, b) => a - b))
  })

  test.each([701, 702, 2_000])('are all points if more are requested: %i', async (points) => {
    expect(await equity(`?points=${String(points)}`)).toEqual(recorded)
  })

  test('are 500 by default', async () => {
    expect(await equity()).toEqual(await equity('?points=500'))
    expect(await equity()).toHaveLength(500)
  })

  test('include the spike', async () => {
    expect(await equity('?points=10')).toContainEqual(recorded[spikeAt])
  })
})

test('a deposit changes value and capital equally, so that no point shows a gain', async () => {
  const points = await equity('', vaultB)
  expect(points.map((point) => point.valueUsd + point.capitalOutUsd - point.capitalInUsd)).toEqual([0, 1])
  expect(points.at(-1)).toEqual({ ts: midnight + hour, valueUsd: 10_001, capitalInUsd: 10_000, capitalOutUsd: 0 })
})
