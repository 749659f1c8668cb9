import type { Address } from 'viem'
import { type Decimal, roundUsd, zero } from '../../domain/decimal.ts'
import type { PriceRefused } from '../errors.ts'
import type { VaultHoldings } from '../positions/holdings.ts'
import type { Header } from '../rpc/block.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { amountIn, readPrices, requireToken, type Token, type TokenPrices, type Tokens } from '../valuation/tokens.ts'
import { type VaultValuation, valueVault } from '../valuation/valuation.ts'
import type { VaultFeeTerms } from '../vaults/vault-fees.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'
import type { Venues } from '../venues/venues.ts'

/** Options of {@link BlockValues}. */
export interface BlockFactsOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
  readonly kinds: VaultKinds
  readonly tokens: Tokens
  readonly feeTerms: VaultFeeTerms
  /** Called where a mark is left out, since a price is refused. */
  readonly onMarkWaits: (refused: PriceRefused) => void
}

/** The state of vaults and prices at the end of one block, each read once. */
export class BlockValues {
  readonly state: BlockState
  readonly #values = new Map<Address, Promise<VaultValuation>>()
  #prices: Promise<TokenPrices> | undefined

  constructor(
    readonly block: Header,
    readonly options: BlockFactsOptions,
  ) {
    this.state = new BlockState(options.rpc, options.multicall, block)
  }

  /** Returns the state at the end of the block before. */
  before(): BlockState {
    const { number, parentHash } = this.block
    const { rpc, multicall } = this.options
    return new BlockState(rpc, multicall, { number: number - 1, hash: parentHash })
  }

  /** Values a vault. See {@link valueVault} for the errors. */
  value(vault: Address, held: VaultHoldings): Promise<VaultValuation> {
    const { venues, kinds, tokens } = this.options
    const existing = this.#values.get(vault)
    if (existing !== undefined) return existing
    const market = { venues, tokens, prices: this.prices() }
    const value = valueVault(this.state, market, { vault, ...kinds.of(vault) }, held)
    this.#values.set(vault, value)
    return value
  }

  prices(): Promise<TokenPrices> {
    this.#prices ??= readPrices({ state: this.state, ts: this.block.ts }, this.options.tokens)
    return this.#prices
  }

  /**
   * Reads the assets of a vault.
   * @throws {ContractMismatch} when one is not configured
   */
  async assets(vault: Address): Promise<Token[]> {
    const assets = await this.options.kinds.of(vault).adapter.readAssets(this.state, vault)
    return assets.map((asset) => requireToken(this.options.tokens, asset, vault, this.block.number))
  }

  /**
   * Returns the USD value of amounts of a vault's assets together, rounded once.
   * @throws {PriceUnavailable} when one has no price
   */
  worthOf(assets: readonly Token[], amounts: readonly bigint[], prices: TokenPrices): Decimal {
    const worth = assets.map((asset, index) =>
      amountIn(asset, amounts[index] ?? 0n).times(prices.require(asset.symbol)),
    )
    return roundUsd(worth.reduce((sum, one) => sum.plus(one), zero))
  }
}
