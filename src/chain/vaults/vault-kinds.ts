import type { Address } from 'viem'
import type { VaultConfig } from '../config.ts'
import { ContractMismatch } from '../errors.ts'
import { emptyConfirmations } from '../rpc/contract-existence.ts'
import { BlockState } from '../rpc/multicall.ts'
import { beefyClm } from './beefy-clm.ts'
import { createErc4626, createErc7540 } from './erc7540.ts'
import { twoTokenShares } from './two-token.ts'
import type { VaultAdapter, VaultPlaces } from './vault-adapter.ts'

/** A vault's adapter, with the vault's accounts, pools and emitters. */
export interface VaultKind extends VaultPlaces {
  readonly adapter: VaultAdapter
}

/** The kinds of the configured vaults. A vault that fits no adapter, or does not exist yet, counts as ERC-4626. */
export class VaultKinds {
  readonly #erc7540 = createErc7540()
  readonly #erc4626 = createErc4626(this.#erc7540)
  /** The first adapter that fits is used. */
  readonly #adapters: readonly VaultAdapter[] = [this.#erc7540, this.#erc4626, twoTokenShares, beefyClm]
  readonly #known = new Map<Address, VaultKind>()

  constructor(readonly vaults: readonly VaultConfig[]) {}

  /** Determines the kinds of the vaults that exist at a block and are not known yet. */
  async resolve(state: BlockState): Promise<void> {
    const unknown = this.vaults.filter(
      ({ address, firstBlock }) => firstBlock <= state.block.number && !this.#known.has(address),
    )
    await Promise.all(
      unknown.map(async (vault) => {
        this.#known.set(vault.address, (await kindOf(state, vault, this.#adapters)) ?? this.#unfitting(vault))
      }),
    )
  }

  of(vault: Address): VaultKind {
    const configured = this.vaults.find(({ address }) => address === vault)
    return this.#known.get(vault) ?? this.#unfitting({ address: vault, pools: configured?.pools })
  }

  /** Returns the kind of a vault that fits no adapter, or does not exist yet. */
  #unfitting({ address, pools = [] }: Pick<VaultConfig, 'address' | 'pools'>): VaultKind {
    return { adapter: this.#erc4626, accounts: [address], pools }
  }

  /** Returns the contracts that emit logs about a vault. */
  emittersOf(vault: Address): Address[] {
    return [vault, ...(this.of(vault).emitters ?? [])]
  }

  /** Returns the vault that an account holds tokens and positions for; undefined for any other account. */
  vaultOf(account: Address): Address | undefined {
    return this.vaults.find(({ address }) => this.of(address).accounts.includes(account))?.address
  }

  /** Returns the pools in which vaults hold positions directly. */
  get pools(): Address[] {
    return [...new Set(this.vaults.flatMap(({ address }) => this.of(address).pools))]
  }
}

/** Returns the kind of a vault; null where it fits no adapter. */
async function kindOf(
  { rpc, multicall, block }: BlockState,
  { address, pools = [] }: VaultConfig,
  adapters: readonly VaultAdapter[],
): Promise<VaultKind | null> {
  // A node that is out of sync may report that there is no contract.
  for (let reading = 0; reading < emptyConfirmations; reading++) {
    const state = new BlockState(rpc, multicall, block)
    const fitting = await Promise.all(adapters.map((one) => one.fits(state, address)))
    const adapter = adapters[fitting.indexOf(true)]
    const places = adapter === undefined ? null : await placesOf(adapter, state, address)
    if (adapter === undefined || places === null) {
      rpc.useAllNodes()
      continue
    }
    return { adapter, ...places, pools: [...new Set([...places.pools, ...pools])] }
  }
  return null
}

/** Reads the accounts, pools and emitters of a vault; null where a contract does not answer: the kind does not fit. */
async function placesOf(adapter: VaultAdapter, state: BlockState, vault: Address): Promise<VaultPlaces | null> {
  try {
    return await adapter.readPlaces(state, vault)
  } catch (error) {
    if (error instanceof ContractMismatch) return null
    throw error
  }
}
