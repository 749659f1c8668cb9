import { createHash } from 'node:crypto'
import type { FactInput } from '../feed/fact/fact.ts'
import type { Header } from './rpc/block.ts'
import type { ChainConfig } from './config.ts'
import { readFacts, type ResumePoint } from './reader.ts'
import { type ChainOptions, connectChain } from './setup.ts'

/**
 * How far a chain has been applied: the second that was told of last, by its first block, and the lines of all seconds
 * before it. Going on from there its facts are told once more, and are known.
 */
export interface ChainPosition {
  readonly line: number
  /** The block's number. */
  readonly byte: number
  /** The block's hash. */
  readonly fingerprint: string
}

/** A chain as a feed: lines of facts, and how far it is with each of them. */
export interface ChainFeed {
  readonly name: string
  readonly start: { readonly line: number; readonly byte: number }
  /** The position that its start goes by; absent where that is the chain's beginning. */
  readonly startsAfter?: ChainPosition
  readonly chunks: AsyncIterable<Buffer>
  readonly progress: { bytesRead: number; bytesUnpacked: number; readonly bytesTotal: null }
  positionAfter(line: { readonly number: number }): ChainPosition
  readonly hasOwnTime: true
  /** Has a listener told of the newest block that was read, each time that there is no more. */
  onEnd(listener: (end: ChainEnd) => Promise<void>): void
}

export interface ChainEnd {
  /** When it was told, by performance.now(). */
  readonly lookedAtMilliseconds: number
  readonly block: { readonly number: number; readonly hash: string; readonly timestamp: number }
}

/**
 * Reads a chain as the lines of a feed, the same ones wherever it goes on.
 * @param applied how far it has been applied before
 */
export function chainFeed(options: ChainOptions, applied: ChainPosition | null): ChainFeed {
  // In the first second there is no line before, so that it is the beginning.
  const position = applied !== null && applied.line > 0 ? applied : null
  const progress = { bytesRead: 0, bytesUnpacked: 0, bytesTotal: null }
  let listener: (end: ChainEnd) => Promise<void> = () => Promise.resolve()
  const onEnd = ({ number, hash, ts: timestamp }: Header): Promise<void> =>
    listener({ lookedAtMilliseconds: performance.now(), block: { number, hash, timestamp } })
  const seconds: { readonly lastLine: number; readonly position: ChainPosition }[] = []

  async function* chunks(): AsyncGenerator<Buffer> {
    let line = position?.line ?? 0
    const reader = await connectChain(options)
    for await (const { start, facts } of readFacts({ ...reader, onEnd }, position && startAt(position))) {
      const all = line === 0 ? [...catalogue(options.config), ...facts] : facts
      if (all.length === 0) continue
      const chunk = Buffer.from(all.map((fact) => `${JSON.stringify(fact)}\n`).join(''))
      seconds.push({
        lastLine: line + all.length,
        position: { line, byte: start.number, fingerprint: start.hash },
      })
      line += all.length
      progress.bytesRead += chunk.length
      progress.bytesUnpacked += chunk.length
      yield chunk
    }
  }

  return {
    name: chainName(options.config),
    start: { line: position?.line ?? 0, byte: 0 },
    ...(position === null ? {} : { startsAfter: position }),
    chunks: untilStopped(chunks(), options.signal),
    progress,
    positionAfter({ number }) {
      while (seconds.length > 1 && (seconds[0]?.lastLine ?? 0) < number) seconds.shift()
      return (seconds[0] as (typeof seconds)[number]).position
    },
    hasOwnTime: true,
    onEnd: (given) => void (listener = given),
  }
}

/** What its position is kept under: another configuration tells other facts, whatever the nodes are called. */
export function chainName(config: ChainConfig): string {
  const { positionManager, markEveryBlocks, tokens, strategies, vaults } = config
  const told = JSON.stringify([positionManager, markEveryBlocks, tokens, strategies, vaults])
  const digest = createHash('sha256').update(told).digest('hex').slice(0, 12)
  return `chain ${config.chainId} (${digest})`
}

/** A stop isn't a failure: the lines just end. */
async function* untilStopped(chunks: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* chunks
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

function startAt({ byte, fingerprint }: ChainPosition): ResumePoint {
  return { number: byte, hash: fingerprint as ResumePoint['hash'] }
}

function catalogue({ strategies }: ChainConfig): FactInput[] {
  return strategies.map((strategy) => ({ kind: 'strategy', ...strategy }))
}
