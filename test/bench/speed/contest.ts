import { processFigures } from './figures.ts'
import type { LiveFeed } from './feed.ts'
import { type Exchange, load } from './load.ts'
import type { System } from './systems.ts'
import { exchangesOf, type Workload, workloads } from './workloads.ts'
import type { WorldSize } from './world.ts'

/** A system with a way to ask it. */
export interface Contestant {
  readonly name: string
  readonly system: System
  readonly size: WorldSize
  /** How it is asked for a workload; null where it has no answer. */
  readonly asked: (workload: Workload) => ((address: string) => Exchange) | null
  /** Whether facts come in while it is measured. */
  readonly isFed: boolean
}

/** Figures of a contestant on a workload: medians of the rounds, but the maximum of the memory. */
export interface Figures {
  readonly requestsASecond: number
  readonly p50: number
  readonly p99: number
  /** Of its own process, a request; null where the operating system doesn't tell. */
  readonly cpuMilliseconds: number | null
  readonly megabytes: number | null
}

/** Figures by workload, then by contestant. */
export type Outcome = ReadonlyMap<string, ReadonlyMap<string, Figures>>

export interface ContestOptions {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly feed: LiveFeed | null
  readonly onRound: (round: number) => void
}

const warmUpSeconds = 0.3

/**
 * Measures all contestants on all workloads, round by round. On a workload they follow each other at once, so that what
 * else the machine does meets all alike.
 */
export async function contest(contestants: readonly Contestant[], options: ContestOptions): Promise<Outcome> {
  const measured = new Map<string, Map<string, Figures[]>>()
  for (let round = 1; round <= options.rounds; round++) {
    for (const workload of workloads) {
      const byName = getOrAdd(measured, workload.name, () => new Map<string, Figures[]>())
      await measureAll(contestants, workload, options, byName)
    }
    options.onRound(round)
  }
  return new Map(Array.from(measured, ([workload, byName]) => [workload, mediansOf(byName)]))
}

async function measureAll(
  contestants: readonly Contestant[],
  workload: Workload,
  options: ContestOptions,
  byName: Map<string, Figures[]>,
): Promise<void> {
  for (const contestant of contestants) {
    const way = contestant.asked(workload)
    if (way === null) continue
    const exchanges = exchangesOf(way, workload, contestant.size)
    getOrAdd(byName, contestant.name, () => []).push(await measure(contestant, exchanges, options))
  }
}

async function measure(
  { system, isFed }: Contestant,
  exchanges: readonly Exchange[],
  { seconds, connections, feed }: ContestOptions,
): Promise<Figures> {
  const { port, pid } = system
  if (isFed) feed?.flow()
  await load(exchanges, { port, connections, seconds: warmUpSeconds })
  const before = processFigures(pid)
  const { answers, p50, p99, ...taken } = await load(exchanges, { port, connections, seconds })
  const after = processFigures(pid)
  if (isFed) feed?.pause()
  const cpuSeconds = before && after && after.cpuSeconds - before.cpuSeconds
  return {
    requestsASecond: answers / taken.seconds,
    p50,
    p99,
    cpuMilliseconds: cpuSeconds === null ? null : (cpuSeconds * 1000) / answers,
    megabytes: after?.megabytes ?? null,
  }
}

function mediansOf(byName: ReadonlyMap<string, readonly Figures[]>): ReadonlyMap<string, Figures> {
  return new Map(Array.from(byName, ([name, rounds]) => [name, medians(rounds)]))
}

function medians(rounds: readonly Figures[]): Figures {
  const of = (figure: (one: Figures) => number | null): number | null => {
    const known = rounds.map(figure).filter((value) => value !== null)
    return known.length === 0 ? null : median(known)
  }
  const megabytes = rounds.flatMap((one) => one.megabytes ?? [])
  return {
    requestsASecond: of((one) => one.requestsASecond) ?? NaN,
    p50: of((one) => one.p50) ?? NaN,
    p99: of((one) => one.p99) ?? NaN,
    cpuMilliseconds: of((one) => one.cpuMilliseconds),
    megabytes: megabytes.length === 0 ? null : Math.max(...megabytes),
  }
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make()
  map.set(key, value)
  return value
}
