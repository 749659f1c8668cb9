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
import type { VaultFeeTerms } from '../vaults/vault-fees.ts'
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
  readonly feeTerms: VaultFeeTerms
  /** The same nodes, whose lasting faults end a request with an error soon. */
  readonly impatientRpc: Rpc
  readonly acquisitions: Acquisitions
  /** Called where a price is missing or refused and the vault is read on, with the consequence. */
  readonly onPriceMissing: (missing: PriceUnavailable, consequence: PriceConsequence, vault?: Address) => void
}

/**
 * Consequence of a missing price: a mark is left out, capital or a fee is valued at an earlier price, or what others have
 * sent to a vault counts as nothing.
 */
export type PriceConsequence = 'mark' | 'flow' | 'gift'

/** An earlier price is looked for 1, 2, 4, 8 … and this many blocks before. */
const maxBlocksBack = 2 ** 20

/** A price of so many blocks before. */
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

  /** Returns the state at the end of the block before. */
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
   * Values what must be told in this block. Where that needs a price that is refused, the newest one counts that is not
   * refused 1, 2, 4, 8 … blocks before: the block's own one stays refused, however long the reader waits.
   * @param work values by the prices that it is given
   * @throws {PriceRefused} when all of these are refused, too, or an amount is of more than there is of its token
   */
  async withEarlierPrices<Value>(work: (prices: TokenPrices) => Promise<Value>): Promise<Value> {
    let prices = await this.prices()
    /** Number of blocks before this one from which on an earlier price is looked for, by symbol. */
    const next = new Map<string, number>()
    for (;;) {
      try {
        return await work(prices)
      } catch (error) {
        if (!(error instanceof PriceRefused)) throw error
        if (error instanceof WorthRefused) await this.#requireSupply(error)
        const { symbol } = error
        // By an earlier one an amount may have too many digits, too.
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
   * Requires that there is as much of a token as an amount whose worth is refused: a vault may log any amount, and one that
   * nobody can have is not worth less at an earlier price.
   * @throws {PriceRefused} when there is less, at the end of this block and of the one before
   */
  async #requireSupply({ symbol, block, reason, amount: { token, units } }: WorthRefused): Promise<void> {
    if (isCoin({ address: token })) return
    const call = contractCall(vaultAbi, token, 'totalSupply', [])
    const supplies = await Promise.all([this.state, this.before()].map((state) => state.read(call)))
    if (supplies.some((supply) => supply === null || supply >= units)) return
    throw new PriceRefused(symbol, block, `${reason}, and is of more than there is`)
  }

  /** Returns the value of a vault at the end of the block before, at given prices, in USD. */
  async valueBefore(vault: Address, held: VaultHoldings, prices: TokenPrices): Promise<Decimal> {
    return (await this.valueAt(vault, held, Promise.resolve(prices), this.before())).valueUsd
  }

  /**
   * Values a vault at given prices.
   * @param state that of the block's end, or of the block before
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
   * @throws {ContractMismatch} when one is not configured
   */
  async assets(vault: Address): Promise<Token[]> {
    const assets = await this.options.kinds.of(vault).adapter.readAssets(this.state, vault)
    return assets.map((asset) => requireToken(this.options.tokens, asset, vault, this.block.number))
  }

  /**
   * Returns the USD value of amounts of a vault's assets together, rounded once.
   * @throws {PriceUnavailable} when one has no price, or one by which they are worth more than a fact can have
   */
  worthOf(assets: readonly Token[], amounts: readonly bigint[], prices: TokenPrices): Decimal {
    return this.exactWorthOf(assets, amounts, prices).rounded()
  }

  /**
   * Sums the USD value of amounts of a vault's assets.
   * @throws {PriceUnavailable} when one has no price
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
