import type { Address } from 'viem'
import { type Decimal, roundUsd, zero } from '../domain/decimal.ts'
import type { FactInput } from '../feed/fact/fact.ts'
import type { Header } from './rpc/block.ts'
import type { VaultConfig } from './config.ts'
import { PriceUnavailable } from './errors.ts'
import { valuesBeforeFlows } from './valuation/flows.ts'
import type { PositionEvent, VaultHoldings } from './valuation/holdings.ts'
import { amountIn, type TokenPrices, readPrices, requireToken, type Token, type Tokens } from './valuation/tokens.ts'
import { type BlockPlan, type FlowEvent, isFlow, type VaultEvent } from './block-plan.ts'
import type { VaultFaults } from './progress/set-aside.ts'
import type { Rpc } from './rpc/rpc.ts'
import { BlockState, contractCall, type Multicall } from './rpc/multicall.ts'
import { type VaultValuation, valueVault, ValueSum } from './valuation/valuation.ts'
import { readVaultTerms, requireCreation } from './vaults/erc4626.ts'
import { vaultAbi, type VaultChange } from './vaults/vault-events.ts'
import { feeAssets, highWaterAssets, type VaultFeeTerms } from './vaults/vault-fees.ts'
import type { StoredPosition, Venue } from './venues/venue.ts'

type EventFact = Extract<FactInput, { kind: 'event' }>
type VaultFact = Extract<FactInput, { kind: 'vault' }>
type MarkFact = Extract<FactInput, { kind: 'mark' }>

/** Options of {@link BlockFacts}. */
export interface BlockFactsOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly venue: Venue
  readonly tokens: Tokens
  readonly feeTerms: VaultFeeTerms
}

/** Reads the facts of one block. */
export class BlockFacts {
  readonly #state: BlockState
  readonly #values = new Map<Address, Promise<VaultValuation>>()
  #prices: Promise<TokenPrices> | undefined

  /** @param faults collects those of single vaults, whose facts are left out then */
  constructor(
    readonly block: Header,
    readonly faults: VaultFaults,
    readonly options: BlockFactsOptions,
  ) {
    this.#state = new BlockState(options.rpc, options.multicall, block)
  }

  /**
   * Values a vault at the end of the block.
   * @param held its positions according to the logs
   * @returns null for a vault that nobody has shares of, while its asset has no price
   * @throws {ContractMismatch} when a contract does not answer as its standard requires
   * @throws {Contradiction} when contracts and logs disagree
   * @throws {PriceUnavailable} when its asset, or something else that it holds, has no price
   */
  async mark(vault: Address, held: VaultHoldings): Promise<MarkFact | null> {
    const tellsHighWater = this.options.feeTerms.get(vault)?.tellsHighWater === true
    const [{ valueUsd, positions }, prices, asset, supply, highWater] = await Promise.all([
      this.#value(vault, held),
      this.#readPricesOnce(),
      this.#state.readRequired(contractCall(vaultAbi, vault, 'asset', [])),
      this.#state.readRequired(contractCall(vaultAbi, vault, 'totalSupply', [])),
      tellsHighWater ? highWaterAssets(this.#state, vault) : null,
    ])
    const token = requireToken(this.options.tokens, asset, vault, this.block.number)
    if (supply === 0n && !prices.has(token.symbol)) return null
    const price = this.#priceOf(token, prices)
    const highWaterUsd = highWater === null ? null : roundUsd(amountIn(token, highWater).times(price))
    return {
      kind: 'mark',
      ts: this.block.ts,
      vault,
      valueUsd: valueUsd.toFixed(),
      prices: formatPrices(prices),
      positions,
      ...(highWaterUsd === null ? {} : { highWaterValueUsd: highWaterUsd.toFixed() }),
    }
  }

  /** Returns the vault facts of vaults that start in this block, then the event facts in the order of the logs. */
  async eventFacts({ opened, events, marked }: BlockPlan): Promise<(VaultFact | EventFact)[]> {
    const { faults } = this
    const [beginnings, flows] = await Promise.all([
      Promise.all(opened.map((vault) => faults.of(vault.address, this.#open(vault)))),
      Promise.all([...marked].map(([vault, held]) => faults.of(vault, this.#flows(vault, held, events)))),
    ])
    const flowOf = new Map(flows.flatMap((some) => some ?? []))
    const fields = events.map(async (event) =>
      isFlow(event) ? flowOf.get(event) : faults.of(event.vault, this.#readEvent(event)),
    )
    return [...beginnings, ...(await Promise.all(fields))].filter((fact) => fact != null)
  }

  async #open(vault: VaultConfig): Promise<VaultFact> {
    const { address, strategy, firstBlock } = vault
    await requireCreation(this.#state, this.block.parentHash, vault)
    const { asset, owner } = await readVaultTerms(this.#state, address)
    requireToken(this.options.tokens, asset, address, firstBlock)
    return { kind: 'vault', ts: this.block.ts, vault: address, owner, strategy }
  }

  /** Returns the deposits and withdrawals of a vault, with their log events. */
  async #flows(vault: Address, held: VaultHoldings, events: BlockPlan['events']): Promise<[FlowEvent, EventFact][]> {
    const flows = events.filter(isFlow).filter((event) => event.vault === vault)
    if (flows.length === 0) return []
    const [{ valueUsd }, prices, asset] = await Promise.all([
      this.#value(vault, held),
      this.#readPricesOnce(),
      this.#state.readRequired(contractCall(vaultAbi, vault, 'asset', [])),
    ])
    const token = requireToken(this.options.tokens, asset, vault, this.block.number)
    const price = this.#priceOf(token, prices)
    const amounts = flows.map(({ change }) => amountIn(token, change.assets))
    const amountsUsd = amounts.map((amount) => roundUsd(amount.times(price)))
    const before = valuesBeforeFlows(
      valueUsd,
      flows.map(({ change }, index) => ({
        isDeposit: change.kind === 'deposited',
        amountUsd: amountsUsd[index] ?? zero,
      })),
    )
    return flows.map((event, index) => {
      const flow = {
        amountUsd: (amountsUsd[index] ?? zero).toFixed(),
        valueBeforeUsd: (before[index] ?? zero).toFixed(),
        prices: formatPrices(prices),
      }
      const assets = [{ symbol: token.symbol, amount: (amounts[index] ?? zero).toFixed() }]
      const fields: EventFields =
        event.change.kind === 'deposited' ? { type: 'deposit', ...flow, assets } : { type: 'withdraw', ...flow }
      return [event, this.#event(event, fields)]
    })
  }

  /** Returns the fact of an event other than a flow. */
  async #readEvent(event: VaultEvent | PositionEvent): Promise<EventFact | null> {
    if ('change' in event) {
      const { change } = event
      if (change.kind === 'minted') return this.#readFee(event, change)
      const reason = `Paused${change.kind === 'paused' ? ` by ${change.by}` : ''}`
      return this.#event(event, change.kind === 'paused' ? { type: 'suspend', reason } : { type: 'resume' })
    }
    const { type, id: positionId, amounts } = event
    if (type === 'plant' || type === 'exit') return this.#event(event, { type, positionId })
    const position = await this.#positionOf(positionId)
    if (position === null) return this.#event(event, { type, positionId })
    const market = { tokens: this.options.tokens, prices: await this.#readPricesOnce() }
    const sum = new ValueSum(market, this.block.number)
    sum.add(position.token0, amounts[0]).add(position.token1, amounts[1])
    return this.#event(event, { type, positionId, amountUsd: roundUsd(sum.usd).toFixed() })
  }

  /** Returns the fee that minted shares are; null where they are none. */
  async #readFee(event: VaultEvent, mint: Extract<VaultChange, { kind: 'minted' }>): Promise<EventFact | null> {
    const { vault } = event
    const terms = this.options.feeTerms.get(vault)
    const units = terms && (await feeAssets(this.#state, this.#stateBefore(), vault, terms, mint))
    if (units == null) return null
    const [prices, asset] = await Promise.all([
      this.#readPricesOnce(),
      this.#state.readRequired(contractCall(vaultAbi, vault, 'asset', [])),
    ])
    const token = requireToken(this.options.tokens, asset, vault, this.block.number)
    const amountUsd = roundUsd(amountIn(token, units).times(this.#priceOf(token, prices)))
    return this.#event(event, { type: 'fee', amountUsd: amountUsd.toFixed() })
  }

  /**
   * Reads a position at the end of the block, or before it where it was burned in the block. Null where it was also
   * minted in the block.
   */
  async #positionOf(id: string): Promise<StoredPosition | null> {
    const { venue } = this.options
    return (await venue.readStored(this.#state, id)) ?? (await venue.readStored(this.#stateBefore(), id))
  }

  #stateBefore(): BlockState {
    const { number, parentHash } = this.block
    const { rpc, multicall } = this.options
    return new BlockState(rpc, multicall, { number: number - 1, hash: parentHash })
  }

  #priceOf({ symbol }: Token, prices: TokenPrices): Decimal {
    const price = prices.get(symbol)
    if (price === undefined) throw new PriceUnavailable(symbol, this.block.number)
    return price
  }

  #event({ vault, log }: VaultEvent | PositionEvent, fields: EventFields): EventFact {
    const { block, txHash, logIndex } = log
    return { kind: 'event', ts: this.block.ts, vault, block, txHash, logIndex, ...fields }
  }

  #value(vault: Address, held: VaultHoldings): Promise<VaultValuation> {
    const { venue, tokens } = this.options
    const existing = this.#values.get(vault)
    if (existing !== undefined) return existing
    const value = valueVault(this.#state, { venue, tokens, prices: this.#readPricesOnce() }, vault, held)
    this.#values.set(vault, value)
    return value
  }

  #readPricesOnce(): Promise<TokenPrices> {
    this.#prices ??= readPrices(this.#state, this.options.tokens)
    return this.#prices
  }
}

/** The fields of an event fact besides its identity and time. */
type EventFields = EventFact extends infer Fact
  ? Fact extends EventFact
    ? Omit<Fact, 'kind' | 'ts' | 'vault' | 'block' | 'txHash' | 'logIndex'>
    : never
  : never

function formatPrices(prices: TokenPrices): Record<string, string> {
  return Object.fromEntries([...prices].map(([symbol, price]) => [symbol, price.toFixed()]))
}
