import { createHash } from 'node:crypto'
import { Decimal } from '../../domain/decimal.ts'
import { usdText } from '../../domain/flows.ts'
import { day, hour, type DemoMarket } from './market.ts'
import type { FactInput } from '../fact/fact.ts'

const markEvery = 6 * hour

/** A vault of the demo feed: its initial deposit and its final status. */
export interface DemoVault {
  readonly name: string
  readonly strategy: string
  /** Half the width of its range, as a fraction of the price. */
  readonly width: number
  /** Days before the end at which it was opened. */
  readonly age: number
  readonly usdc: number
  readonly weth: number
  readonly ending: 'earning' | 'attention' | 'suspended' | 'exiting' | 'idle' | 'planting'
}

/**
 * Returns all facts of a vault up to a time, ascending by time.
 * @param end in Unix seconds
 */
export function demoVaultFacts(vault: DemoVault, market: DemoMarket, end: number): FactInput[] {
  const life = new VaultSimulation(vault, market, end - vault.age * day)
  const lastMark = vault.ending === 'idle' ? end - 2 * day : end
  for (let ts = life.ts + markEvery; ts <= lastMark; ts += markEvery) life.step(ts, lastMark)
  life.finish()
  return life.facts
}

/** Simulates a vault: half of its value follows the price, and rewards accrue while it is in range. */
class VaultSimulation {
  readonly facts: FactInput[] = []
  ts: number
  readonly #vault: DemoVault
  readonly #market: DemoMarket
  readonly #address: string
  readonly #depositUsd: string
  #valueUsd: number
  #rewardsUsd = 0
  #highWaterUsd = 0
  #centre: number
  #outsideSince: number | null = null
  #position = 1
  #logIndex = 0

  constructor(vault: DemoVault, market: DemoMarket, opened: number) {
    this.#vault = vault
    this.#market = market
    this.#address = `0x${hex(vault.name, 40)}`
    this.ts = opened + hour
    this.#centre = market(this.ts)
    const wethUsd = new Decimal(vault.weth).times(this.#prices.WETH)
    this.#depositUsd = usdText(wethUsd.plus(vault.usdc))
    this.#valueUsd = Number(this.#depositUsd)
    this.#open(opened)
  }

  #open(opened: number): void {
    const { name, strategy, usdc, weth, ending } = this.#vault
    const owner = `0x${hex(`owner of ${name}`, 40)}`
    const assets = [
      { symbol: 'USDC', amount: String(usdc) },
      { symbol: 'WETH', amount: String(weth) },
    ].filter(({ amount }) => amount !== '0')
    this.facts.push(
      { kind: 'vault', ts: opened, vault: this.#address, owner, strategy },
      {
        ...this.#event(this.ts),
        type: 'deposit',
        amountUsd: this.#depositUsd,
        assets,
        valueBeforeUsd: '0',
        prices: this.#prices,
      },
    )
    if (ending !== 'planting')
      this.facts.push({ ...this.#event(this.ts + 600), type: 'plant', positionId: this.#positionId })
  }

  step(ts: number, lastMark: number): void {
    const before = this.#market(this.ts)
    this.ts = ts
    const price = this.#market(ts)
    const { width, ending } = this.#vault
    this.#earn(price / before - 1)
    this.#outsideSince = Math.abs(price / this.#centre - 1) > width ? (this.#outsideSince ?? ts) : null
    // Moves the range away from the price a day before the end, so that the vault needs attention.
    const strays = ending === 'attention' && ts === lastMark - day
    const isLong = this.#outsideSince !== null && ts - this.#outsideSince >= 2 * markEvery
    if (strays || isLong) this.#rebalance(strays ? price * (1 + 4 * width) : price)
    this.#mark()
  }

  #earn(move: number): void {
    const rate =
      this.#outsideSince === null && this.#vault.ending !== 'planting'
        ? 0.00012 * Math.sqrt(0.1 / this.#vault.width)
        : 0
    this.#valueUsd *= 1 + move * 0.5
    this.#rewardsUsd += this.#valueUsd * rate
    this.#valueUsd *= 1 + rate
    this.#highWaterUsd = Math.max(this.#highWaterUsd, this.#valueUsd - Number(this.#depositUsd))
  }

  #rebalance(centre: number): void {
    this.#position++
    this.#centre = centre
    this.#outsideSince = null
    this.facts.push({ ...this.#event(this.ts - 600), type: 'rebalance', positionId: this.#positionId })
  }

  #mark(valueUsd = this.#valueUsd, isEmpty = this.#vault.ending === 'planting'): void {
    const range = {
      lower: fixed(this.#centre * (1 - this.#vault.width)),
      upper: fixed(this.#centre * (1 + this.#vault.width)),
      current: this.#prices.WETH,
    }
    const pool = { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 }
    const position = { id: this.#positionId, pool, range, pendingRewardsUsd: fixed(this.#rewardsUsd) }
    const fees = {
      contributedUsd: this.#depositUsd,
      withdrawnUsd: valueUsd === 0 ? fixed(this.#valueUsd) : '0',
      taxedUsd: '0',
      highWaterUsd: fixed(this.#highWaterUsd),
    }
    this.facts.push({
      kind: 'mark',
      ts: this.ts,
      vault: this.#address,
      valueUsd: fixed(valueUsd),
      prices: this.#prices,
      positions: isEmpty ? [] : [position],
      fees,
    })
  }

  /** Adds the events that lead to the vault's final status. */
  finish(): void {
    const positionId = this.#positionId
    const { ts } = this
    switch (this.#vault.ending) {
      case 'earning':
        this.facts.push({ ...this.#event(ts), type: 'harvest', positionId, amountUsd: fixed(this.#rewardsUsd) })
        return
      case 'suspended':
        this.facts.push({ ...this.#event(ts), type: 'suspend', reason: 'oracle deviation above 2 %' })
        return
      case 'exiting':
        this.facts.push({ ...this.#event(ts), type: 'exit', positionId })
        return
      case 'planting':
        this.facts.push({ ...this.#event(ts), type: 'plant', positionId })
        return
      case 'idle':
        this.#leave()
        return
      case 'attention':
    }
  }

  #leave(): void {
    const amountUsd = fixed(this.#valueUsd)
    this.facts.push({ ...this.#event(this.ts + hour), type: 'exit', positionId: this.#positionId })
    this.ts += 2 * hour
    this.facts.push({
      ...this.#event(this.ts),
      type: 'withdraw',
      amountUsd,
      valueBeforeUsd: amountUsd,
      prices: this.#prices,
    })
    this.ts += hour
    this.#mark(0, true)
  }

  get #prices(): { USDC: string; WETH: string } {
    return { USDC: '1', WETH: fixed(this.#market(this.ts)) }
  }

  get #positionId(): string {
    return `${this.#vault.name}-${this.#position}`
  }

  #event(ts: number) {
    const logIndex = this.#logIndex++
    const txHash = `0x${hex(`${this.#vault.name} ${logIndex}`, 64)}`
    return { kind: 'event', ts, vault: this.#address, block: Math.floor(ts / 12), txHash, logIndex } as const
  }
}

function hex(text: string, digits: number): string {
  return createHash('sha256').update(`demo ${text}`).digest('hex').slice(0, digits)
}

function fixed(value: number): string {
  return value.toFixed(6)
}
