import { median } from '../median.ts'
import type { BackgroundFeed } from './background-feed.ts'
import { generateLoad, type HttpRequest } from './load.ts'
import { processUsage } from './process-usage.ts'
import type { System } from './systems.ts'
import { type RequestBuilder, requestsOf, type Workload, workloads } from './workloads.ts'
import type { WorldSize } from './world.ts'

/** A running system, and the protocol by which it is measured: a row of the report. */
export interface BenchmarkTarget {
  readonly name: string
  readonly system: System
  readonly size: WorldSize
  /** Returns the builder of a workload's request; null where the system doesn't support the workload. */
  readonly requestFor: (workload: Workload) => RequestBuilder | null
  /** Whether the background feed writes while the target is measured. */
  readonly isFed: boolean
}

/** Measurements of a target on a workload: medians of the rounds, and the maximum of the memory. */
export interface Measurement {
  readonly requestsPerSecond: number
  /** Latency in milliseconds. */
  readonly p50: number
  readonly p99: number
  /** CPU time of the system's own process per request; null where the operating system doesn't report it. */
  readonly cpuMilliseconds: number | null
  readonly megabytes: number | null
}

/** Measurements by workload, then by target. */
export type ComparisonResult = ReadonlyMap<string, ReadonlyMap<string, Measurement>>

export interface ComparisonOptions {
  readonly rounds: number
  /** Duration of one measurement. */
  readonly seconds: number
  readonly connections: number
  readonly feed: BackgroundFeed | null
  readonly onRound: (round: number) => void
}

const warmUpSeconds = 0.3

/**
 * Measures all targets on all workloads, in interleaved rounds: for each workload one target directly after the other, so
 * that other work of the machine affects all of them alike.
 */
export async function compareTargets(
  targets: readonly BenchmarkTarget[],
  options: ComparisonOptions,
): Promise<ComparisonResult> {
  const measurements = new Map<string, Map<string, Measurement[]>>()
  for (let round = 1; round <= options.rounds; round++) {
    for (const workload of workloads) {
      const byTarget = getOrAdd(measurements, workload.name, () => new Map<string, Measurement[]>())
      await measureWorkload(targets, workload, options, byTarget)
    }
    options.onRound(round)
  }
  return new Map(Array.from(measurements, ([workload, byTarget]) => [workload, summarizeRounds(byTarget)]))
}

/** Measures all targets on a workload once, and adds their measurements to `byTarget`. */
async function measureWorkload(
  targets: readonly BenchmarkTarget[],
  workload: Workload,
  options: ComparisonOptions,
  byTarget: Map<string, Measurement[]>,
): Promise<void> {
  for (const target of targets) {
    const build = target.requestFor(workload)
    if (build === null) continue
    const requests = requestsOf(build, workload, target.size)
    getOrAdd(byTarget, target.name, () => []).push(await measureTarget(target, requests, options))
  }
}

async function measureTarget(
  { system, isFed }: BenchmarkTarget,
  requests: readonly HttpRequest[],
  { seconds, connections, feed }: ComparisonOptions,
): Promise<Measurement> {
  const { port, pid } = system
  if (isFed) feed?.resume()
  await generateLoad(requests, { port, connections, seconds: warmUpSeconds })
  const before = processUsage(pid)
  const { responses, p50, p99, ...elapsed } = await generateLoad(requests, { port, connections, seconds })
  const after = processUsage(pid)
  if (isFed) feed?.pause()
  const cpuSeconds = before && after && after.cpuSeconds - before.cpuSeconds
  return {
    requestsPerSecond: responses / elapsed.seconds,
    p50,
    p99,
    cpuMilliseconds: cpuSeconds === null ? null : (cpuSeconds * 1000) / responses,
    megabytes: after?.megabytes ?? null,
  }
}

function summarizeRounds(byTarget: ReadonlyMap<string, readonly Measurement[]>): ReadonlyMap<string, Measurement> {
  return new Map(Array.from(byTarget, ([name, rounds]) => [name, summarize(rounds)]))
}

function summarize(rounds: readonly Measurement[]): Measurement {
  const medianOf = (field: (one: Measurement) => number | null): number | null => {
    const known = rounds.map(field).filter((value) => value !== null)
    return known.length === 0 ? null : median(known)
  }
  const megabytes = rounds.flatMap((one) => one.megabytes ?? [])
  return {
    requestsPerSecond: medianOf((one) => one.requestsPerSecond) ?? NaN,
    p50: medianOf((one) => one.p50) ?? NaN,
    p99: medianOf((one) => one.p99) ?? NaN,
    cpuMilliseconds: medianOf((one) => one.cpuMilliseconds),
    megabytes: megabytes.length === 0 ? null : Math.max(...megabytes),
  }
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const value = map.get(key) ?? create()
  map.set(key, value)
  return value
}
