import type { Address } from 'viem'
import type { Decimal } from '../../domain/decimal.ts'
import type { ChainConfig } from '../config.ts'
import { ChainUnreadable, PriceRefused, type PriceUnavailable, WorthRefused } from '../errors.ts'
import type { VaultHoldings } from '../positions/holding.ts'
import type { Header } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { Acquisitions } from '../valuation/acquisitions.ts'
import { isCoin, readPrices, requireToken, type Token, type TokenPrices, type Tokens } from '../valuation/tokens.ts'
import { valueWithoutGifts } from '../valuation/gifts.ts'
import type { VaultValuation } from '../valuation/valuation.ts'
import { ValueSum } from '../valuation/value-sum.ts'
import { vaultAbi } from '../vaults/vault-events.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'
import type { Venues } from '../venues/venues.ts'

/** Options of {@link BlockValues}. */
export interface BlockFactsOptions {
  readonly config: Pick<ChainConfig, 'chainId'>
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venues: Venues
  readonly kinds: VaultKinds
  readonly tokens: Tokens
  /** The same nodes; a request soon throws an error where a fault lasts. */
  readonly impatientRpc: Rpc
  readonly acquisitions: Acquisitions
  /** Called with the consequence where a price is missing or refused, and reading the vault continues. */
  readonly onPriceMissing: (missing: PriceUnavailable, consequence: PriceConsequence, vault?: Address) => void
}

/**
 * Consequence of a missing price: a mark is left out, capital or a fee is valued at an earlier price, or tokens that
 * others have sent to a vault count as nothing.
 */
export type PriceConsequence = 'mark' | 'flow' | 'gift'

/** Maximum distance in blocks of an earlier price: 1, 2, 4, 8 … blocks before are tried. */
const maxBlocksBack = 2 ** 20

/** A price, and the number of blocks before the refused one at which it was read. */
interface EarlierPrice {
  readonly price: Decimal
  readonly back: number
}

/** The state of vaults and prices at the end of one block, each read once. */
export class BlockValues {
  readonly state: BlockState
  readonly #values = new Map<Address, Promise<VaultValuation>>()
  #before: BlockState | undefined
  #prices: Promise<TokenPrices> | undefined
  readonly #earlier = new Map<string, Promise<EarlierPrice>>()

  constructor(
    readonly block: Header,
    readonly options: BlockFactsOptions,
  ) {
    this.state = new BlockState(options.rpc, options.multicall, block)
  }

  /** Returns the state at the end of the previous block. */
  before(): BlockState {
    const { number, parentHash } = this.block
    const { rpc, multicall } = this.options
    this.#before ??= new BlockState(rpc, multicall, { number: number - 1, hash: parentHash })
    return this.#before
  }

  /** Values a vault. See {@link valueWithoutGifts} for the errors. */
  value(vault: Address, held: VaultHoldings): Promise<VaultValuation> {
    const existing = this.#values.get(vault)
    if (existing !== undefined) return existing
    const value = this.valueAt(vault, held, this.prices())
    this.#values.set(vault, value)
    return value
  }

  prices(): Promise<TokenPrices> {
    this.#prices ??= readPrices({ state: this.state, ts: this.block.ts }, this.options.tokens)
    return this.#prices
  }

  /**
   * Values an event, which must have a value in this block. In place of a refused price, the newest price counts that
   * is accepted 1, 2, 4, 8 … blocks before: waiting does not change the price of a final block.
   * @param work values the event at the prices that it receives
   * @throws {PriceRefused} when all of these are refused, too, or an amount exceeds the token's total supply
   */
  async withEarlierPrices<Value>(work: (prices: TokenPrices) => Promise<Value>): Promise<Value> {
    let prices = await this.prices()
    /** Distance in blocks at which the search for an earlier price continues, by symbol. */
    const next = new Map<string, number>()
    for (;;) {
      try {
        return await work(prices)
      } catch (error) {
        if (!(error instanceof PriceRefused)) throw error
        if (error instanceof WorthRefused) await this.#requireSupply(error)
        const { symbol } = error
        // At the earlier price the amount may have too many digits, too: continue before it.
        const from = next.get(symbol) ?? 1
        const earlier = this.#earlier.get(`${symbol} ${from}`) ?? this.#earlierPrice(error, from)
        this.#earlier.set(`${symbol} ${from}`, earlier)
        const { price, back } = await earlier
        next.set(symbol, back * 2)
        prices = prices.with(symbol, price)
      }
    }
  }

  /**
   * Requires that an amount whose value is refused does not exceed the token's total supply: a vault may log any
   * amount, and an earlier price does not help where the amount is impossible.
   * @throws {PriceRefused} when the supply is less at the end of this block and of the previous one
   */
  async #requireSupply({ symbol, block, reason, amount: { token, units } }: WorthRefused): Promise<void> {
    if (isCoin({ address: token })) return
    const call = contractCall(vaultAbi, token, 'totalSupply', [])
    const supplies = await Promise.all([this.state, this.before()].map((state) => state.read(call)))
    if (supplies.some((supply) => supply === null || supply >= units)) return
    throw new PriceRefused(symbol, block, `${reason}, and is of more than there is`)
  }

  /** Returns the value of a vault at the end of the previous block, at given prices, in USD. */
  async valueBefore(vault: Address, held: VaultHoldings, prices: TokenPrices): Promise<Decimal> {
    return (await this.valueAt(vault, held, Promise.resolve(prices), this.before())).valueUsd
  }

  /**
   * Values a vault at given prices.
   * @param state the state at the end of this block, or of the previous one
   */
  valueAt(
    vault: Address,
    held: VaultHoldings,
    prices: Promise<TokenPrices>,
    state = this.state,
  ): Promise<VaultValuation> {
    const { venues, kinds, tokens, acquisitions, onPriceMissing } = this.options
    const onGift = (missing: PriceUnavailable): void => onPriceMissing(missing, 'gift', vault)
    const valued = { vault, ...kinds.of(vault) }
    return valueWithoutGifts(state, { venues, tokens, prices }, valued, held, { acquisitions, onGift })
  }

  /** @param from number of blocks before this one, a power of two */
  async #earlierPrice(refused: PriceRefused, from: number): Promise<EarlierPrice> {
    const { tokens, multicall, impatientRpc, onPriceMissing } = this.options
    const own = new Map([...tokens].filter(([, { symbol }]) => symbol === refused.symbol))
    for (let back = from; back <= maxBlocksBack && back < this.block.number; back *= 2) {
      try {
        const header = await impatientRpc.ask((node) => node.block(this.block.number - back))
        const state = new BlockState(impatientRpc, multicall, header)
        const price = (await readPrices({ state, ts: header.ts }, own)).get(refused.symbol)
        if (price === undefined) continue
        onPriceMissing(refused, 'flow')
        return { price, back }
      } catch (error) {
        if (!(error instanceof ChainUnreadable)) throw error
        throw new PriceRefused(
          refused.symbol,
          this.block.number,
          `${refused.reason}, and the nodes lack earlier blocks`,
        )
      }
    }
    throw new PriceRefused(refused.symbol, this.block.number, `${refused.reason}, as in earlier blocks`)
  }

  /**
   * Reads the assets of a vault.
   * @throws {ContractMismatch} when an asset is not configured
   */
  async assets(vault: Address): Promise<Token[]> {
    const assets = await this.options.kinds.of(vault).adapter.readAssets(this.state, vault)
    return assets.map((asset) => requireToken(this.options.tokens, asset, vault, this.block.number))
  }

  /**
   * Returns the USD value of amounts of a vault's assets together, rounded once.
   * @throws {PriceUnavailable} when an asset has no price, or the value exceeds the greatest of a fact
   */
  worthOf(assets: readonly Token[], amounts: readonly bigint[], prices: TokenPrices): Decimal {
    return this.exactWorthOf(assets, amounts, prices).rounded()
  }

  /**
   * Sums the USD value of amounts of a vault's assets.
   * @throws {PriceUnavailable} when an asset has no price
   */
  exactWorthOf(assets: readonly Token[], amounts: readonly bigint[], prices: TokenPrices): ValueSum {
    const sum = new ValueSum({ tokens: this.options.tokens, prices })
    for (const [index, { address, symbol }] of assets.entries()) {
      prices.require(symbol)
      sum.add(address, amounts[index] ?? 0n)
    }
    return sum
  }
}
