import { createHash } from 'node:crypto'
import { BaseError } from 'viem'
import type { FactInput } from '../feed/fact/fact.ts'
import type { Header } from './rpc/block.ts'
import type { ChainConfig } from './config.ts'
import { Undecodable } from './errors.ts'
import { readFacts, type ResumePoint } from './reader.ts'
import { type ChainOptions, connectChain } from './setup.ts'

/**
 * Position in a chain: the first block of the last second with facts, and the number of lines of all seconds before it.
 * Resuming there repeats the facts of that second, which are known.
 */
export interface ChainPosition {
  readonly line: number
  /** Number of the block. */
  readonly byte: number
  /** Hash of the block. */
  readonly fingerprint: string
}

/** A chain as a source of a feed. */
export interface ChainFeed {
  readonly name: string
  readonly start: { readonly line: number; readonly byte: number }
  /** The stored position that it resumes from; absent at the start of the chain's history. */
  readonly startsAfter?: ChainPosition
  /** The facts of each second. */
  readonly facts: AsyncIterable<readonly FactInput[]>
  positionAfter(line: { readonly number: number }): ChainPosition
  readonly hasOwnTime: true
  /** Registers a listener for each time that the newest final block was read. */
  onEnd(listener: (end: ChainEnd) => Promise<void>): void
}

/** The newest block that was read, when there is no further final block. */
export interface ChainEnd {
  /** Time of that report, in milliseconds of performance.now(). */
  readonly lookedAtMilliseconds: number
  readonly block: { readonly number: number; readonly hash: string; readonly timestamp: number }
}

/**
 * Reads a chain as a feed. Its facts and their line numbers are the same wherever reading resumes.
 * @param applied position of the feed in the database
 */
export function chainFeed(options: ChainOptions, applied: ChainPosition | null): ChainFeed {
  // In the first second there is no line before it: that is the beginning.
  const position = applied !== null && applied.line > 0 ? applied : null
  let listener: (end: ChainEnd) => Promise<void> = () => Promise.resolve()
  const onEnd = ({ number, hash, ts: timestamp }: Header): Promise<void> =>
    listener({ lookedAtMilliseconds: performance.now(), block: { number, hash, timestamp } })
  const seconds: { readonly lastLine: number; readonly position: ChainPosition }[] = []

  async function* facts(): AsyncGenerator<readonly FactInput[]> {
    let line = position?.line ?? 0
    const reader = await connectChain(options)
    for await (const batch of readFacts({ ...reader, onEnd }, position && startAt(position))) {
      const { start } = batch
      const all = line === 0 ? [...catalogue(options.config), ...batch.facts] : batch.facts
      if (all.length === 0) continue
      seconds.push({
        lastLine: line + all.length,
        position: { line, byte: start.number, fingerprint: start.hash },
      })
      line += all.length
      yield all
    }
  }

  return {
    name: chainName(options.config),
    start: { line: position?.line ?? 0, byte: 0 },
    ...(position === null ? {} : { startsAfter: position }),
    facts: untilAborted(facts(), options.signal),
    positionAfter({ number }) {
      while (seconds.length > 1 && (seconds[0]?.lastLine ?? 0) < number) seconds.shift()
      return (seconds[0] as (typeof seconds)[number]).position
    },
    hasOwnTime: true,
    onEnd: (given) => void (listener = given),
  }
}

/**
 * Returns the name of the feed, which contains a digest of the configuration: any change yields other facts. Nodes do
 * not matter.
 */
export function chainName(config: ChainConfig): string {
  const { positionManager, markEveryBlocks, tokens, strategies, vaults } = config
  const configured = JSON.stringify([positionManager, markEveryBlocks, tokens, strategies, vaults])
  const digest = createHash('sha256').update(configured).digest('hex').slice(0, 12)
  return `chain ${config.chainId} (${digest})`
}

/**
 * Ends the iteration when it is aborted, instead of failing.
 * @throws {Undecodable} for an error of the decoder, whose message has advice to programmers
 */
async function* untilAborted<Item>(items: AsyncIterable<Item>, signal: AbortSignal): AsyncGenerator<Item> {
  try {
    yield* items
  } catch (error) {
    if (signal.aborted) return
    throw error instanceof BaseError ? new Undecodable(firstLine(error.shortMessage), { cause: error }) : error
  }
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

function startAt({ byte, fingerprint }: ChainPosition): ResumePoint {
  return { number: byte, hash: fingerprint as ResumePoint['hash'] }
}

function catalogue({ strategies }: ChainConfig): FactInput[] {
  return strategies.map((strategy) => ({ kind: 'strategy', ...strategy }))
}
