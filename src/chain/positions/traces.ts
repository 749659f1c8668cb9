import { type Address, parseAbi } from 'viem'
import { ContractMismatch } from '../errors.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import type { Header } from '../rpc/block.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { tokenAbi } from '../vaults/vault-events.ts'
import type { Venues } from '../venues/venues.ts'

const traceAbi = parseAbi([
  'function totalSupply() view returns (uint256)',
  'function paused() view returns (bool)',
  'function owner() view returns (address)',
])

/** Contracts whose state would have changed if they had emitted logs. */
export interface Traced {
  /** Vaults whose own logs are in question. */
  readonly vaults: readonly Address[]
  /** The vaults, and the contracts that emit logs about them. */
  readonly emitters: readonly Address[]
  /** The accounts that hold tokens for the vaults. */
  readonly accounts: readonly Address[]
  /** Tokens that vaults hold. */
  readonly tokens: readonly Address[]
  /** The positions in question; absent where there are none. */
  readonly positions?: { readonly owners: readonly Address[]; readonly ids: readonly string[] } | undefined
}

/** Options of {@link leftNoTraces}. */
export interface TracesOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
}

/**
 * Returns whether a block left the state of contracts unchanged: the shares, balances, suspension and owners of vaults,
 * and the number, liquidity and credits of positions. False where a state cannot be read.
 */
export async function leftNoTraces(
  { number, hash, parentHash }: Header,
  traced: Traced,
  { rpc, multicall, venues }: TracesOptions,
): Promise<boolean> {
  const [before, after] = await Promise.all(
    [
      { number: number - 1, hash: parentHash },
      { number, hash },
    ].map((block) => readTraces(new BlockState(rpc, multicall, block), venues, traced).catch(unreadable)),
  )
  return before !== null && before === after
}

/** @throws any error other than a {@link ContractMismatch} */
function unreadable(error: unknown): null {
  if (error instanceof ContractMismatch) return null
  throw error
}

/** Reads the state as a string to compare; null where a vault does not report its share supply. */
async function readTraces(state: BlockState, venues: Venues, traced: Traced): Promise<string | null> {
  const { vaults, emitters, accounts, tokens, positions = { owners: [], ids: [] } } = traced
  const [supplies, ...rest] = await Promise.all([
    Promise.all(vaults.map((vault) => state.read(contractCall(traceAbi, vault, 'totalSupply', [])))),
    Promise.all(emitters.map((emitter) => state.read(contractCall(traceAbi, emitter, 'paused', [])))),
    Promise.all(vaults.map((vault) => state.read(contractCall(traceAbi, vault, 'owner', [])))),
    Promise.all(
      accounts.flatMap((account) =>
        tokens.map((token) => state.read(contractCall(tokenAbi, token, 'balanceOf', [account]))),
      ),
    ),
    Promise.all(positions.owners.map((owner) => venues.count(state, owner))),
    Promise.all(positions.ids.map((id) => venues.readStored(state, id))),
  ])
  if (supplies.includes(null)) return null
  return JSON.stringify([supplies, rest], (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
}
