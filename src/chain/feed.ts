import { createHash } from 'node:crypto'
import { BaseError } from 'viem'
import type { Address } from '../domain/address.ts'
import type { FactInput } from '../feed/fact/fact.ts'
import type { Header } from './rpc/block.ts'
import type { ChainConfig } from './config.ts'
import { isSpot } from './price-config.ts'
import { Undecodable } from './errors.ts'
import { type ChainPosition, decodePosition, encodePosition } from './progress/chain-position.ts'
import { readFacts } from './progress/read-facts.ts'
import { type ChainOptions, connectChain } from './setup.ts'

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
  /** Gives it a function that reads how far vaults are in the database, so that facts that are applied are not read again. */
  useProgress(read: ReadProgress): void
  /** Registers a listener for each time that the newest final block was read. */
  onEnd(listener: (end: ChainEnd) => Promise<void>): void
}

/** Reads how far vaults are in a database; those without facts are left out. */
export type ReadProgress = (addresses: readonly string[]) => Promise<readonly AppliedVault[]>

/** How far a vault is in a database. */
export interface AppliedVault {
  readonly address: string
  /** Time of its newest fact, in Unix seconds. */
  readonly ts: number
  /** Whether it has a mark of that second: it is the last fact of one. */
  readonly isMarked: boolean
  /** Its events of that second that are applied, where it has no mark of it. */
  readonly events: readonly { readonly txHash: string; readonly logIndex: number }[]
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
  let readProgress: ReadProgress = () => Promise.resolve([])

  async function* facts(): AsyncGenerator<readonly FactInput[]> {
    let line = position?.line ?? 0
    const start = position && decodePosition(position)
    const { onSetAside = () => undefined, refused = new Map<Address, string>() } = options
    onSetAside([])
    const connection = await connectChain(options, start !== null)
    const applied = start === null || start.skipsApplied ? await readProgress(addressesOf(options.config)) : []
    const isApplied = appliedIn(applied)
    const isAppliedEvent = appliedEventsIn(applied)
    for await (const batch of readFacts({ ...connection, onEnd, isApplied, onSetAside, refused }, start)) {
      const left = batch.facts.filter((fact) => !isAppliedEvent(fact))
      const all = line === 0 ? [...catalogue(options.config), ...left] : left
      if (all.length === 0) continue
      seconds.push({
        lastLine: line + all.length,
        position: encodePosition(line, { ...batch, skipsApplied: applied.length > 0 }),
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
    useProgress: (read) => void (readProgress = read),
    onEnd: (given) => void (listener = given),
  }
}

/**
 * Returns the name of the feed, which contains a digest of the configuration: any change yields other facts. Nodes do
 * not matter.
 */
export function chainName(config: ChainConfig): string {
  const { positionManager, otherPositionManagers, markEveryBlocks, tokens, strategies, vaults } = config
  // Spot prices of pools are told by a list of these, as in the file.
  const told = tokens.map((token) => ({ ...token, price: isSpot(token.price) ? token.price.pools : token.price }))
  const others = otherPositionManagers === undefined ? [] : [otherPositionManagers]
  const configured = JSON.stringify([positionManager, markEveryBlocks, told, strategies, vaults, ...others])
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

function addressesOf({ vaults }: ChainConfig): string[] {
  return vaults.map(({ address }) => address)
}

/** Returns whether a fact of a vault is applied by its time. A second without a mark may be applied in part. */
function appliedIn(vaults: readonly AppliedVault[]): (vault: string, ts: number) => boolean {
  const newest = new Map(vaults.map((vault) => [vault.address, vault]))
  return (address, ts) => {
    const vault = newest.get(address)
    return vault !== undefined && (ts < vault.ts || (ts === vault.ts && vault.isMarked))
  }
}

/**
 * Returns whether a fact is an event that is applied, of a second without a mark: that had to wait for a price, which another
 * file may tell otherwise. Then the event has other amounts, which do not replace those that were told.
 */
function appliedEventsIn(vaults: readonly AppliedVault[]): (fact: FactInput) => boolean {
  const keyOf = (vault: string, txHash: string, logIndex: number): string =>
    [vault, txHash, logIndex].join(' ').toLowerCase()
  const known = new Set(
    vaults.flatMap(({ address, events }) => events.map(({ txHash, logIndex }) => keyOf(address, txHash, logIndex))),
  )
  return (fact) => fact.kind === 'event' && known.has(keyOf(fact.vault, fact.txHash, fact.logIndex))
}

function catalogue({ strategies }: ChainConfig): FactInput[] {
  return strategies.map((strategy) => ({ kind: 'strategy', ...strategy }))
}
