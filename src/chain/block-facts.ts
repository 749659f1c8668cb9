import type { Address } from 'viem'
import { roundUsd, zero } from '../domain/decimal.ts'
import type { FactInput } from '../feed/fact/fact.ts'
import type { Header } from './rpc/block.ts'
import { contractExists } from './rpc/contract-existence.ts'
import type { VaultConfig } from './config.ts'
import { NoPrice, UnlikeItsStandard } from './errors.ts'
import { valuesBefore } from './valuation/flows.ts'
import type { Holding, PositionEvent } from './valuation/holdings.ts'
import { amountIn, type TokenPrices, readPrices, tokenAt, type Tokens } from './valuation/tokens.ts'
import type { BlockPlan, VaultEvent } from './block-plan.ts'
import type { Rpc } from './rpc/rpc.ts'
import { BlockState, contractCall } from './rpc/multicall.ts'
import { type VaultValuation, valueVault, Worth } from './valuation/valuation.ts'
import { vaultAbi } from './vaults/vault-events.ts'
import type { StoredPosition, Venue } from './venues/venue.ts'

type EventFact = Extract<FactInput, { kind: 'event' }>
type VaultFact = Extract<FactInput, { kind: 'vault' }>
type MarkFact = Extract<FactInput, { kind: 'mark' }>

export interface BlockFactsOptions {
  readonly rpc: Rpc
  readonly multicall: Address
  readonly venue: Venue
  readonly tokens: Tokens
}

/** A block, and what is to be told of it. */
export class BlockFacts {
  readonly #state: BlockState
  readonly #values = new Map<Address, Promise<VaultValuation>>()
  #prices: Promise<TokenPrices> | undefined

  constructor(
    readonly block: Header,
    readonly options: BlockFactsOptions,
  ) {
    this.#state = new BlockState(options.rpc, options.multicall, block)
  }

  /** What the vault is worth at the end of the block. */
  async mark(vault: Address, held: readonly Holding[]): Promise<MarkFact> {
    const [{ valueUsd, positions }, prices] = await Promise.all([this.#value(vault, held), this.#pricesNow()])
    return { kind: 'mark', ts: this.block.ts, vault, valueUsd: valueUsd.toFixed(), prices: written(prices), positions }
  }

  /** Vaults that begin, and events in the order of their logs. */
  async happenings({ opened, events, marked }: BlockPlan): Promise<FactInput[]> {
    const [beginnings, flows] = await Promise.all([
      Promise.all(opened.map((vault) => this.#open(vault))),
      Promise.all([...marked].map(([vault, held]) => this.#flows(vault, held, events))),
    ])
    const flowOf = new Map(flows.flat())
    const told = events.map(async (event) => (isFlow(event) ? flowOf.get(event) : this.#tell(event)))
    return [...beginnings, ...(await Promise.all(told)).filter((fact) => fact != null)]
  }

  async #open({ address, strategy, firstBlock }: VaultConfig): Promise<VaultFact> {
    const { rpc } = this.options
    const [before, now, owner, asset] = await Promise.all([
      contractExists(rpc, address, this.block.parentHash),
      contractExists(rpc, address, this.block.hash),
      this.#state.read(contractCall(vaultAbi, address, 'owner', [])),
      this.#state.read(contractCall(vaultAbi, address, 'asset', [])),
    ])
    if (before) throw new UnlikeItsStandard(address, firstBlock - 1, 'is there before its firstBlock, already')
    if (!now) throw new UnlikeItsStandard(address, firstBlock, 'is not there in its firstBlock, not yet')
    if (owner === null) throw new UnlikeItsStandard(address, firstBlock, "doesn't answer owner()")
    if (asset === null) throw new UnlikeItsStandard(address, firstBlock, "doesn't answer asset()")
    tokenAt(this.options.tokens, asset, address, firstBlock)
    return { kind: 'vault', ts: this.block.ts, vault: address, owner, strategy }
  }

  /** The deposits and withdrawals of a vault, each by its event. */
  async #flows(
    vault: Address,
    held: readonly Holding[],
    events: BlockPlan['events'],
  ): Promise<[FlowEvent, EventFact][]> {
    const flows = events.filter(isFlow).filter((event) => event.vault === vault)
    if (flows.length === 0) return []
    const [{ valueUsd }, prices, asset] = await Promise.all([
      this.#value(vault, held),
      this.#pricesNow(),
      this.#state.must(contractCall(vaultAbi, vault, 'asset', [])),
    ])
    const token = tokenAt(this.options.tokens, asset, vault, this.block.number)
    const price = prices.get(token.symbol)
    if (price === undefined) throw new NoPrice(token.symbol, this.block.number)
    const amounts = flows.map(({ change }) => amountIn(token, change.assets))
    const amountsUsd = amounts.map((amount) => roundUsd(amount.times(price)))
    const before = valuesBefore(
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
        prices: written(prices),
      }
      const assets = [{ symbol: token.symbol, amount: (amounts[index] ?? zero).toFixed() }]
      const told: Told =
        event.change.kind === 'deposited' ? { type: 'deposit', ...flow, assets } : { type: 'withdraw', ...flow }
      return [event, this.#event(event, told)]
    })
  }

  /** What isn't a flow; null for a position in other tokens than the known ones, which anybody can send a vault. */
  async #tell(event: VaultEvent | PositionEvent): Promise<EventFact | null> {
    if ('change' in event) {
      const { change } = event
      const reason = `Paused${change.kind === 'paused' ? ` by ${change.by}` : ''}`
      return this.#event(event, change.kind === 'paused' ? { type: 'suspend', reason } : { type: 'resume' })
    }
    const { type, id: positionId, amounts } = event
    const position = await this.#positionOf(positionId)
    const { tokens } = this.options
    if (position !== null && !(tokens.has(position.token0) && tokens.has(position.token1))) return null
    if (type === 'plant' || type === 'exit' || position === null) return this.#event(event, { type, positionId })
    const worth = new Worth({ tokens, prices: await this.#pricesNow() }, this.block.number)
    worth.add(position.token0, amounts[0]).add(position.token1, amounts[1])
    return this.#event(event, { type, positionId, amountUsd: roundUsd(worth.usd).toFixed() })
  }

  /** A position that is gone at the end of the block is looked for before it; one that came and went in it is unknown. */
  async #positionOf(id: string): Promise<StoredPosition | null> {
    const { rpc, multicall, venue } = this.options
    const { number, parentHash } = this.block
    const before = new BlockState(rpc, multicall, { number: number - 1, hash: parentHash })
    return (await venue.storedOf(this.#state, id)) ?? (await venue.storedOf(before, id))
  }

  #event({ vault, log }: VaultEvent | PositionEvent, told: Told): EventFact {
    const { block, txHash, logIndex } = log
    return { kind: 'event', ts: this.block.ts, vault, block, txHash, logIndex, ...told }
  }

  #value(vault: Address, held: readonly Holding[]): Promise<VaultValuation> {
    const { venue, tokens } = this.options
    const known = this.#values.get(vault)
    if (known !== undefined) return known
    const value = valueVault(this.#state, { venue, tokens, prices: this.#pricesNow() }, vault, held)
    this.#values.set(vault, value)
    return value
  }

  #pricesNow(): Promise<TokenPrices> {
    this.#prices ??= readPrices(this.#state, this.options.tokens)
    return this.#prices
  }
}

/** What an event says beside when and where. */
type Told = EventFact extends infer Fact
  ? Fact extends EventFact
    ? Omit<Fact, 'kind' | 'ts' | 'vault' | 'block' | 'txHash' | 'logIndex'>
    : never
  : never

interface FlowEvent extends VaultEvent {
  readonly change: Extract<VaultEvent['change'], { assets: bigint }>
}

function isFlow(event: VaultEvent | PositionEvent): event is FlowEvent {
  return 'change' in event && 'assets' in event.change
}

function written(prices: TokenPrices): Record<string, string> {
  return Object.fromEntries([...prices].map(([symbol, price]) => [symbol, price.toFixed()]))
}
