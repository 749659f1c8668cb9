import type { Address } from 'viem'
import { zero } from '../../domain/decimal.ts'
import type { FactInput } from '../../feed/fact/fact.ts'
import type { VaultConfig } from '../config.ts'
import { PriceRefused } from '../errors.ts'
import type { VaultHoldings } from '../positions/holding.ts'
import type { VaultFaults } from '../vault-groups/set-aside.ts'
import type { Header } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import { amountIn, requireToken, type Token, type TokenPrices } from '../valuation/tokens.ts'
import { requireCreation } from '../vaults/creation.ts'
import { vaultAbi } from '../vaults/vault-events.ts'
import { storableUsd } from '../valuation/valuation.ts'
import { highWaterAssets, mayMintFees } from '../vaults/vault-fees.ts'
import { type BlockPlan, type FlowEvent, isFlow } from './block-plan.ts'
import { type BlockFactsOptions, BlockValues } from './block-values.ts'
import { eventFact, type EventFields, type LedgerFact, readEventFact } from './event-facts.ts'
import { valuesBeforeFlows } from './flows.ts'

type VaultFact = Extract<FactInput, { kind: 'vault' }>
type MarkFact = Extract<FactInput, { kind: 'mark' }>

/** Reads the facts of one block. */
export class BlockFacts {
  readonly #values: BlockValues

  /** @param faults collects the faults of single vaults, whose facts are then left out */
  constructor(
    readonly block: Header,
    readonly faults: VaultFaults,
    readonly options: BlockFactsOptions,
  ) {
    this.#values = new BlockValues(block, options)
  }

  /**
   * Values a vault at the end of the block.
   * @param held positions of the vault according to the logs
   * @returns null where a price is refused, or the vault has no shares and its asset has no price
   * @throws {ContractMismatch} when a contract does not answer as its standard requires
   * @throws {Contradiction} when contracts and logs disagree
   * @throws {PriceUnavailable} when the vault's asset, or another token that it has acquired, has no price
   */
  async mark(vault: Address, held: VaultHoldings): Promise<MarkFact | null> {
    try {
      return await this.#readMark(vault, held)
    } catch (error) {
      if (!(error instanceof PriceRefused)) throw error
      this.options.onPriceMissing(error, 'mark', vault)
      return null
    }
  }

  async #readMark(vault: Address, held: VaultHoldings): Promise<MarkFact | null> {
    const [{ valueUsd, positions }, prices, assets, supply, highWater] = await Promise.all([
      this.#values.value(vault, held),
      this.#values.prices(),
      this.#values.assets(vault),
      this.#values.state.readRequired(contractCall(vaultAbi, vault, 'totalSupply', [])),
      mayMintFees(this.options.kinds, vault) ? highWaterAssets(this.#values.state, vault) : null,
    ])
    if (supply === 0n && assets.some(({ symbol }) => !prices.has(symbol))) return null
    for (const { symbol } of assets) prices.require(symbol)
    const highWaterUsd =
      highWater === null
        ? null
        : storableUsd(this.#values.state, vault, this.#values.exactWorthOf(assets, [highWater], prices).usd)
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
  async eventFacts(plan: BlockPlan): Promise<(VaultFact | LedgerFact)[]> {
    const { faults } = this
    const { opened, events, marked } = plan
    const [beginnings, flows] = await Promise.all([
      Promise.all(opened.map((vault) => faults.of(vault.address, this.#open(vault)))),
      Promise.all([...marked].map(([vault, held]) => faults.of(vault, this.#flows(vault, held, plan)))),
    ])
    const flowOf = new Map(flows.flatMap((some) => some ?? []))
    const fields = events.map(async (event) =>
      isFlow(event) ? flowOf.get(event) : faults.of(event.vault, readEventFact(this.#values, event)),
    )
    return [...beginnings, ...(await Promise.all(fields))].filter((fact) => fact != null)
  }

  async #open(vault: VaultConfig): Promise<VaultFact> {
    const { address, strategy, firstBlock } = vault
    const { adapter } = this.options.kinds.of(address)
    await requireCreation(this.#values.state, this.block.parentHash, vault, adapter)
    const { assets, owner, feeTokens = [] } = await adapter.readTerms(this.#values.state, address)
    for (const asset of [...assets, ...feeTokens]) requireToken(this.options.tokens, asset, address, firstBlock)
    return { kind: 'vault', ts: this.block.ts, vault: address, owner, strategy, chainId: this.options.config.chainId }
  }

  /** Returns the deposits and withdrawals of a vault, with their log events. */
  async #flows(
    vault: Address,
    held: VaultHoldings,
    { events, heldBefore }: BlockPlan,
  ): Promise<[FlowEvent, LedgerFact][]> {
    const flows = events.filter(isFlow).filter((event) => event.vault === vault)
    if (flows.length === 0) return []
    const before = heldBefore.get(vault) ?? null
    return this.#values.withEarlierPrices((prices) => this.#flowsAt(vault, { held, before }, flows, prices))
  }

  async #flowsAt(
    vault: Address,
    { held, before }: { held: VaultHoldings; before: VaultHoldings | null },
    flows: readonly FlowEvent[],
    prices: TokenPrices,
  ): Promise<[FlowEvent, LedgerFact][]> {
    const [{ valueUsd }, assets] = await Promise.all([
      this.#values.valueAt(vault, held, Promise.resolve(prices)),
      this.#values.assets(vault),
    ])
    const amountsUsd = flows.map(({ change }) => this.#values.worthOf(assets, change.amounts, prices))
    const valuesUsd = await valuesBeforeFlows(
      valueUsd,
      flows.map(({ change }, index) => ({
        isDeposit: change.kind === 'deposited',
        amountUsd: amountsUsd[index] ?? zero,
      })),
      async () => (before === null ? zero : await this.#values.valueBefore(vault, before, prices)),
    )
    return flows.map((event, index) => {
      const flow = {
        amountUsd: (amountsUsd[index] ?? zero).toFixed(),
        valueBeforeUsd: (valuesUsd[index] ?? zero).toFixed(),
        prices: formatPrices(prices),
      }
      const { kind, amounts } = event.change
      const fields: EventFields =
        kind === 'deposited'
          ? { type: 'deposit', ...flow, assets: describeAmounts(assets, amounts) }
          : { type: 'withdraw', ...flow }
      return [event, eventFact(this.block, event, fields)]
    })
  }
}

/** Describes amounts of assets; zero amounts are left out where there are several assets. */
function describeAmounts(assets: readonly Token[], amounts: readonly bigint[]): { symbol: string; amount: string }[] {
  return assets.flatMap((asset, index) => {
    const units = amounts[index] ?? 0n
    if (units === 0n && assets.length > 1) return []
    return [{ symbol: asset.symbol, amount: amountIn(asset, units).toFixed() }]
  })
}

function formatPrices(prices: TokenPrices): Record<string, string> {
  return Object.fromEntries([...prices].map(([symbol, price]) => [symbol, price.toFixed()]))
}
