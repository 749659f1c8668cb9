import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { exceeds, nothing, plus, rational, rounded, textOf, times } from './rational.ts'
import type { FeedShape } from './random-feed.ts'
import { RandomValues, symbols, texts } from './random-values.ts'
import { WorldModel } from './world-model.ts'

const strategyIds = ['one', 'two', 'ONE', 'toString', '7', ' spaced id ', 'ünï/cödé@1'] as const

/** Generates facts that are valid after the facts before them, and some that are not. */
export class FactMaker extends RandomValues {
  readonly model = new WorldModel()
  #ts: number
  #events = 0

  constructor(
    random: () => number,
    readonly shape: FeedShape,
  ) {
    super(random)
    this.#ts = this.pick([0, 1, 86_400, 1_700_006_400, 1_700_006_400])
  }

  fact(at: number): FactInput {
    if (at < 2) return this.#strategy(strategyIds[at])
    if (this.model.addresses.length === 0) return this.#opened(0)
    this.#ts += this.pick(this.shape.waits)
    const chance = this.random()
    if (chance < 0.04 && this.shape.isCatalogueFixed !== true) return this.#strategy(this.pick(strategyIds))
    if (chance < 0.08) return this.#screen()
    if (chance < 0.14) return this.#opened(Math.floor(this.random() * this.shape.vaults))
    const isUnknown = this.random() < 0.03
    return this.#ofVault(this.pick(isUnknown ? [addressOf(this.shape.vaults)] : this.model.addresses))
  }

  #strategy(id = 'one'): FactInput {
    const ts = Math.max(0, this.#ts - this.pick([0, 0, 1, 100]))
    const [name, tagline, description] = [this.pick(texts), this.pick(texts), this.pick(texts)]
    return { kind: 'strategy', ts, id, name: `${id}${name}`.slice(0, 200), tagline, description }
  }

  #screen(): FactInput {
    const ts = Math.max(0, this.#ts - this.pick([0, 0, 1, 100]))
    const shown = symbols.filter(() => this.random() < 0.5)
    const pairs = shown.flatMap((a) => shown.filter(() => this.random() < 0.4).map((b) => pair(a, b)))
    const known = strategyIds.filter((id) => this.model.strategies.has(id) && this.random() < 0.5)
    // The key of two unknown ones would depend on the order in the line.
    const ids = this.random() < 0.1 ? [...new Set([...known, this.pick(strategyIds)])] : known
    return {
      kind: 'screen',
      ts,
      assets: shown.map((symbol) => ({
        symbol,
        name: symbol,
        category: this.pick(['major', 'stable', 'stock token', 'meme'] as const),
        venues: this.pick([[], ['dex'], ['dex', 'dex', 'é "']]),
        liquidityUsd: this.usd(),
      })),
      pairs: pairs.map((one) => ({ ...one, tvlUsd: this.usd(), emissions: this.random() < 0.5 })),
      strategies: Object.fromEntries(ids.map((id) => [id, pairs.filter(() => this.random() < 0.5)])),
    }
  }

  #opened(index: number): FactInput {
    const strategy = this.pick(this.random() < 0.95 ? [...this.model.strategies.keys()] : strategyIds)
    const chainId = this.random() < 0.2 ? { chainId: this.pick([1, 137, Number.MAX_SAFE_INTEGER]) } : {}
    return { kind: 'vault', ts: this.#ts, vault: addressOf(index), owner: addressOf(90 + index), strategy, ...chainId }
  }

  #ofVault(vault: string): FactInput {
    const newest = this.model.vault(vault)?.updatedAt ?? this.#ts
    const ts = this.random() < 0.04 ? Math.max(0, newest - this.pick([1, 86_400])) : this.#ts
    const chance = this.random()
    if (chance < 0.05) return { kind: 'owner', ts, vault, owner: addressOf(90 + Math.floor(this.random() * 4)) }
    return chance < 0.4 ? this.#mark(vault, ts) : this.#event(vault, ts)
  }

  #mark(vault: string, ts: number): FactInput {
    const [contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd] = [this.usd(), this.usd(), this.usd(), this.usd()]
    const feeFields = this.pick([
      {},
      {},
      {},
      { fees: { contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd } },
      { highWaterValueUsd: taxedUsd },
    ])
    const ids = ['a', '0x1', 'ü "c"', '\u2028'].filter(() => this.random() < 0.35)
    const positions = ids.map((id) => this.position(id))
    return {
      kind: 'mark',
      ts,
      vault,
      valueUsd: this.#value(vault),
      prices: this.#prices(vault),
      positions,
      ...feeFields,
    }
  }

  #event(vault: string, ts: number): FactInput {
    const block = this.pick([0, 1, ts, ts, this.#events, Number.MAX_SAFE_INTEGER])
    const logIndex = this.pick([0, 1, this.#events, 2_147_483_647])
    const txHash = `0x${'aB'.repeat(28)}${(this.#events++).toString(16).padStart(8, '0')}`
    const of = { kind: 'event' as const, ts, vault, block, txHash, logIndex }
    const positionId = this.pick(['a', '0x1', 'ü "c"'])
    const type = this.pick([
      'deposit',
      'deposit',
      'deposit',
      'withdraw',
      'withdraw',
      'plant',
      'exit',
      'rebalance',
      'harvest',
      'fee',
      'suspend',
      'resume',
    ] as const)
    switch (type) {
      case 'deposit':
        return { ...of, type, valueBeforeUsd: this.#value(vault), ...this.#deposited(vault) }
      case 'withdraw': {
        const valueBeforeUsd = this.#value(vault)
        return { ...of, type, amountUsd: this.part(valueBeforeUsd), valueBeforeUsd, prices: this.#prices(vault) }
      }
      case 'plant':
      case 'exit':
        return { ...of, type, positionId }
      case 'rebalance':
      case 'harvest':
        return { ...of, type, positionId, ...(this.random() < 0.5 && { amountUsd: this.usd() }) }
      case 'fee':
        return { ...of, type, amountUsd: this.usd() }
      case 'suspend':
        return { ...of, type, reason: this.pick(texts) }
      case 'resume':
        return { ...of, type }
    }
  }

  #deposited(vault: string) {
    const assets = Array.from({ length: this.pick([0, 1, 1, 2, 3]) }, () => ({
      symbol: this.pick(symbols),
      amount: this.amount(),
    }))
    const prices: Record<string, string> = {
      ...this.#prices(vault),
      ...Object.fromEntries(assets.map(({ symbol }) => [symbol, this.price()])),
    }
    const worth = assets.map(({ symbol, amount }) => times(rational(amount), rational(prices[symbol] ?? '0')))
    const isWrong = this.random() < 0.03
    const worthUsd = rounded(worth.reduce(plus, nothing), 6)
    const amountUsd = isWrong ? plus(worthUsd, rational('0.000001')) : worthUsd
    if (exceeds(amountUsd, 32)) return { amountUsd: '0', assets: [], prices }
    return { amountUsd: textOf(amountUsd, 6), assets, prices }
  }

  /** Returns prices of all assets of the vault, and sometimes of others; rarely one is missing. */
  #prices(vault: string): Record<string, string> {
    const held = [...(this.model.vault(vault)?.held.keys() ?? [])]
    const named = symbols.filter((symbol) => (held.includes(symbol) ? this.random() < 0.99 : this.random() < 0.2))
    return Object.fromEntries(named.map((symbol) => [symbol, this.price()]))
  }

  /** Returns a value for a valuation of a vault: often the one carried since the last fact. */
  #value(vault: string): string {
    const carriedUsd = this.model.vault(vault)?.valueUsd ?? nothing
    if (this.random() < 0.5) return textOf(carriedUsd, 6)
    return this.random() < 0.1 ? '0' : this.usd()
  }
}

const addressOf = (index: number): string => `0x${'ab'.repeat(19)}${index.toString(16).padStart(2, '0')}`
export const pair = (a: string, b: string) => ({ a, b, venues: ['dex'] })
