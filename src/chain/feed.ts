import { createHash } from 'node:crypto'
import { BaseError } from 'viem'
import type { Address } from '../domain/address.ts'
import type { AppliedVault, ReadAppliedVaults } from '../domain/identity/applied-vault.ts'
import type { FactInput } from '../feed/fact/fact.ts'
import type { Header } from './rpc/block.ts'
import type { ChainConfig } from './config.ts'
import { isSpot } from './price-config.ts'
import { Undecodable } from './errors.ts'
import { type ChainPosition, decodePosition, encodePosition } from './chain-position.ts'
import { readAllVaults } from './vault-groups/read-all-vaults.ts'
import { type ChainOptions, connectChain } from './setup.ts'

/** A chain as a source of a feed. */
export interface ChainFeed {
  readonly name: string
  readonly start: { readonly line: number }
  /** The stored position that it resumes from; absent at the start of the chain's history. */
  readonly startsAfter?: ChainPosition
  /** The facts of each second. */
  readonly facts: AsyncIterable<readonly FactInput[]>
  positionAfter(line: { readonly number: number }): ChainPosition
  readonly hasOwnTime: true
  /** Sets the function that reads which facts of vaults are applied in the database: they are not read from the chain again. */
  useAppliedVaults(read: ReadAppliedVaults): void
  /** Registers a listener that is called each time the newest final block has been read. */
  onEnd(listener: (end: ReadHead) => Promise<void>): void
}

/** The newest block that was read, when there is no further final block. */
export interface ReadHead {
  /** Time at which the end was reached, in milliseconds of performance.now(). */
  readonly lookedAtMilliseconds: number
  readonly block: { readonly number: number; readonly hash: string; readonly timestamp: number }
}

/**
 * Reads a chain as a feed. Its facts and their line numbers are the same wherever reading resumes.
 * @param applied position of the feed in the database
 */
export function chainFeed(options: ChainOptions, applied: ChainPosition | null): ChainFeed {
  // A position with line 0 is in the first second: reading starts from the beginning.
  const position = applied !== null && applied.line > 0 ? applied : null
  let listener: (end: ReadHead) => Promise<void> = () => Promise.resolve()
  const onHead = ({ number, hash, ts: timestamp }: Header): Promise<void> =>
    listener({ lookedAtMilliseconds: performance.now(), block: { number, hash, timestamp } })
  const seconds: { readonly lastLine: number; readonly position: ChainPosition }[] = []
  let readApplied: ReadAppliedVaults = () => Promise.resolve([])

  async function* facts(): AsyncGenerator<readonly FactInput[]> {
    let line = position?.line ?? 0
    const start = position && decodePosition(position)
    const { onSetAside = () => undefined, refused = new Map<Address, string>() } = options
    onSetAside([])
    const connection = await connectChain(options, start !== null)
    const applied = start === null || start.skipsApplied ? await readApplied(addressesOf(options.config)) : []
    if (applied.length > 0) {
      const vaults = applied.map(({ address }) => address)
      options.report('info', 'The database has facts of vaults already: older ones of the chain are skipped', {
        vaults,
      })
    }
    const isApplied = appliedIn(applied)
    const isAppliedEvent = appliedEventsIn(applied)
    for await (const batch of readAllVaults(connection, start, { isApplied, onHead }, { onSetAside, refused })) {
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
    start: { line: position?.line ?? 0 },
    ...(position === null ? {} : { startsAfter: position }),
    facts: untilAborted(facts(), options),
    positionAfter({ number }) {
      while (seconds.length > 1 && (seconds[0]?.lastLine ?? 0) < number) seconds.shift()
      return (seconds[0] as (typeof seconds)[number]).position
    },
    hasOwnTime: true,
    useAppliedVaults: (read) => void (readApplied = read),
    onEnd: (given) => void (listener = given),
  }
}

/** Returns the name of the feed, with a digest of the configuration fields that affect the facts. */
export function chainName(config: ChainConfig): string {
  const { positionManager, otherPositionManagers, markEveryBlocks, tokens, strategies, vaults } = config
  // Spot prices are represented by the list of pools, as in the file.
  const told = tokens.map((token) => ({ ...token, price: isSpot(token.price) ? token.price.pools : token.price }))
  const others = otherPositionManagers === undefined ? [] : [otherPositionManagers]
  const configured = JSON.stringify([positionManager, markEveryBlocks, told, strategies, vaults, ...others])
  const digest = createHash('sha256').update(configured).digest('hex').slice(0, 12)
  return `chain ${config.chainId} (${digest})`
}

/**
 * Ends the iteration over a chain that is followed on abort, instead of throwing.
 * @throws an AbortError on abort before the newest final block, where the chain is read up to it
 * @throws {Undecodable} for an error of viem's decoder, whose full message contains advice to programmers
 */
async function* untilAborted<Item>(
  items: AsyncIterable<Item>,
  { signal, once }: Pick<ChainOptions, 'signal' | 'once'>,
): AsyncGenerator<Item> {
  try {
    yield* items
  } catch (error) {
    if (signal.aborted && !once) return
    throw error instanceof BaseError ? new Undecodable(firstLine(error.shortMessage), { cause: error }) : error
  }
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

function addressesOf({ vaults }: ChainConfig): string[] {
  return vaults.map(({ address }) => address)
}

/** Returns a test for whether a vault's facts of a second are applied; without a mark, they may be so in part. */
function appliedIn(vaults: readonly AppliedVault[]): (vault: string, ts: number) => boolean {
  const newest = new Map(vaults.map((vault) => [vault.address, vault]))
  return (address, ts) => {
    const vault = newest.get(address)
    return vault !== undefined && (ts < vault.ts || (ts === vault.ts && vault.isMarked))
  }
}

/**
 * Returns a function that reports whether a fact is an applied event of a second without a mark. A mark waits for a
 * refused price; if another price source replaces it, the event's amounts differ, and the applied ones remain.
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
