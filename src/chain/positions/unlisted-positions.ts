import type { Address } from 'viem'
import type { VaultConfig } from '../config.ts'
import { Contradiction } from '../errors.ts'
import { aboutVault } from '../vault-groups/set-aside.ts'
import { forEachYielding, groupBy } from '../rpc/arrays.ts'
import type { ChainLog, Header } from '../rpc/block.ts'
import { readLogRange } from '../rpc/log-ranges.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { PositionChange } from '../venues/venue.ts'
import type { Venues } from '../venues/venues.ts'
import { readVerified } from './check-holdings.ts'
import type { Arrival, Holdings } from './holdings.ts'
import { newPosition } from './position-state.ts'
import { isInTokens, type Tokens } from '../valuation/tokens.ts'

/** Options of {@link applyHistory}. */
export interface HistoryOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
  readonly tokens: Tokens
  readonly vaults: readonly Pick<VaultConfig, 'firstBlock'>[]
}

/**
 * Applies the logs of venues that keep no list of positions, from the first block of the vaults up to the end of a block.
 * @throws {Contradiction} when logs and contract disagree
 * @throws {ContractMismatch} when a contract of a vault does not answer as its standard requires
 */
export async function applyHistory(
  holdings: Holdings,
  block: Pick<Header, 'number' | 'hash'>,
  options: HistoryOptions,
): Promise<void> {
  const { rpc, multicall, venues, vaults } = options
  const first = firstOf(vaults)
  const filters = venues.all.filter(({ list }) => list === undefined).flatMap((one) => one.movesOf(holdings.accounts))
  if (filters.length === 0 || first > block.number) return
  const logs = await readLogRange(rpc, filters, first, block.number)
  const blocks = groupBy(logs, ({ block: number }) => number)
  const state = new BlockState(rpc, multicall, block)
  const arriving = await additionsIn(blocks.values(), holdings)
  holdings.expect(
    await Promise.all(
      Array.from(arriving, async ([id, added]) => {
        return [id, await aboutVault(added.vault, arrivalOf(id, added, state, options))] as const
      }),
    ),
  )
  await forEachYielding(blocks.values(), (ofBlock) => holdings.applyLogs(ofBlock))
  const unlisted = [...holdings.vaults].flatMap((vault) =>
    holdings.of(vault).positions.filter(({ id }) => !venues.lists(id)),
  )
  await Promise.all(unlisted.map((holding) => readVerified(state, venues, holding)))
}

/** The liquidity that logs add to a position of a vault, less the liquidity that they remove. */
interface AddedLiquidity {
  readonly vault: Address
  readonly added: bigint
}

/** Returns what logs add to the positions of vaults: by id, in the order of the logs. */
async function additionsIn(
  blocks: Iterable<readonly ChainLog[]>,
  holdings: Holdings,
): Promise<Map<string, AddedLiquidity>> {
  const found = new Map<string, AddedLiquidity>()
  await forEachYielding(blocks, (logs) => {
    for (const log of logs) {
      const change = holdings.venues.decodeLog(log)
      if (change?.account === undefined) continue
      const { vault = holdings.vaultOf(change.account.owner), added = 0n } = found.get(change.id) ?? {}
      if (vault !== undefined) found.set(change.id, { vault, added: added + addedBy(change) })
    }
  })
  return found
}

function addedBy(change: PositionChange): bigint {
  if (change.kind === 'increased') return change.liquidity
  return change.kind === 'decreased' ? -change.liquidity : 0n
}

/**
 * Returns the state of a position before logs. Somebody may have added liquidity in a vault's name before the vault was
 * created: the position then has more liquidity than the logs add.
 */
async function arrivalOf(
  id: string,
  { vault, added }: AddedLiquidity,
  state: BlockState,
  options: HistoryOptions,
): Promise<Arrival> {
  const { venues, tokens } = options
  const stored = await venues.readStored(state, id)
  if (stored === null) throw new Contradiction(`position ${id} has logs and isn't there`, vault)
  if (!isInTokens(tokens, stored)) return 'stray'
  const liquidity = stored.liquidity - added
  const before = liquidity === 0n ? 0n : await liquidityBefore(id, options)
  if (before === liquidity) return { ...newPosition, liquidity }
  const { number } = state.block
  throw new Contradiction(`at block ${number} position ${id} has ${liquidity} more liquidity than by the logs`, vault)
}

/** Reads the liquidity of a position before the first block of the vaults. */
async function liquidityBefore(id: string, { rpc, multicall, venues, vaults }: HistoryOptions): Promise<bigint> {
  const block = await rpc.ask((node) => node.block(firstOf(vaults) - 1))
  return (await venues.readStored(new BlockState(rpc, multicall, block), id))?.liquidity ?? 0n
}

function firstOf(vaults: HistoryOptions['vaults']): number {
  return Math.min(...vaults.map(({ firstBlock }) => firstBlock))
}
