import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { compared, exceeds, minus, nothing, over, plus, type Rational, rational, rounded, times } from './rational.ts'

/*
 * What FACTS.md and DECISIONS.md say of a vault, folded anew from all of its facts each time: slow and simple.
 */

export type Kind<Name extends FactInput['kind']> = Extract<FactInput, { kind: Name }>
export type VaultHistory = readonly [Kind<'vault'>, ...(Kind<'owner'> | Kind<'event'> | Kind<'mark'>)[]]
type Flow = Extract<Kind<'event'>, { type: 'deposit' | 'withdraw' }>
type Prices = Readonly<Record<string, string>>

/** Error of a fact that violates a rule, with the wrong key. */
export class Bad extends Error {
  constructor(readonly key: string | null) {
    super(String(key))
  }
}

export interface Point {
  readonly valueUsd: Rational
  readonly capitalInUsd: Rational
  readonly capitalOutUsd: Rational
  readonly marketDeltaUsd: Rational
}

/** A valuation, with the value of the vault after it and after the flow at that time. */
export interface Valued {
  readonly ts: number
  readonly carriedUsd: Rational
  readonly foundUsd: Rational
  readonly leftUsd: Rational
}

export interface VaultFold {
  owner: string
  updatedAt: number
  valueUsd: Rational
  capitalInUsd: Rational
  capitalOutUsd: Rational
  marketDeltaUsd: Rational
  /** Quantities of the assets of all deposits. */
  held: Map<string, Rational>
  paidOutUsd: Rational
  phase: 'planting' | 'exiting' | null
  suspension: { reason: string; since: number } | null
  positions: Kind<'mark'>['positions']
  toldFees: Record<'contributedUsd' | 'withdrawnUsd' | 'taxedUsd', Rational> | null
  taxedUsd: Rational
  highWaterUsd: Rational
  isHighWaterStated: boolean
  readonly points: Map<number, Point>
  readonly valued: Valued[]
}

export const netOf = (one: Pick<Point, 'valueUsd' | 'capitalInUsd' | 'capitalOutUsd'>): Rational =>
  minus(plus(one.valueUsd, one.capitalOutUsd), one.capitalInUsd)

/**
 * Folds the facts of a vault.
 * @throws {Bad} where the last one breaks a rule
 */
export function foldVault([opened, ...facts]: VaultHistory): VaultFold {
  const vault: VaultFold = {
    owner: opened.owner,
    updatedAt: opened.ts,
    valueUsd: nothing,
    capitalInUsd: nothing,
    capitalOutUsd: nothing,
    marketDeltaUsd: nothing,
    held: new Map(),
    paidOutUsd: nothing,
    phase: null,
    suspension: null,
    positions: [],
    toldFees: null,
    taxedUsd: nothing,
    highWaterUsd: nothing,
    isHighWaterStated: false,
    points: new Map(),
    valued: [],
  }
  for (const fact of facts) {
    if (fact.ts < vault.updatedAt) throw new Bad('ts')
    vault.updatedAt = fact.ts
    if (fact.kind === 'owner') vault.owner = fact.owner
    else if (fact.kind === 'mark') mark(vault, fact)
    else event(vault, fact)
  }
  return vault
}

function mark(vault: VaultFold, fact: Kind<'mark'>): void {
  const carriedUsd = vault.valueUsd
  value(vault, fact.valueUsd, fact.prices)
  vault.positions = fact.positions
  if (vault.phase === 'planting' && fact.positions.length > 0) vault.phase = null
  if (fact.fees !== undefined) {
    const { contributedUsd, withdrawnUsd, taxedUsd, highWaterUsd } = fact.fees
    const [contributed, withdrawn, taxed] = [contributedUsd, withdrawnUsd, taxedUsd].map(rational)
    vault.toldFees = {
      contributedUsd: contributed ?? nothing,
      withdrawnUsd: withdrawn ?? nothing,
      taxedUsd: taxed ?? nothing,
    }
    vault.highWaterUsd = rational(highWaterUsd)
    vault.isHighWaterStated = true
  }
  leave(vault, fact.ts, carriedUsd, vault.valueUsd, 'valueUsd')
  if (fact.highWaterValueUsd === undefined) return
  const gainUsd = netOf({ ...vault, valueUsd: rational(fact.highWaterValueUsd) })
  if (exceeds(gainUsd, 32) && compared(gainUsd, nothing) > 0) throw new Bad('highWaterValueUsd')
  vault.highWaterUsd = compared(gainUsd, nothing) < 0 ? nothing : gainUsd
  vault.isHighWaterStated = true
}

function event(vault: VaultFold, fact: Kind<'event'>): void {
  switch (fact.type) {
    case 'deposit':
    case 'withdraw':
      return flow(vault, fact)
    case 'plant':
      vault.phase = 'planting'
      return
    case 'exit':
      vault.phase = 'exiting'
      return endExit(vault)
    case 'suspend':
      vault.suspension = { reason: fact.reason, since: fact.ts }
      return
    case 'resume':
      vault.suspension = null
      return
    case 'fee':
      vault.taxedUsd = plus(vault.taxedUsd, rational(fact.amountUsd))
      if (vault.toldFees === null && exceeds(vault.taxedUsd, 32)) throw new Bad('amountUsd')
      return
    case 'rebalance':
    case 'harvest':
  }
}

function flow(vault: VaultFold, fact: Flow): void {
  const [amountUsd, beforeUsd, carriedUsd] = [rational(fact.amountUsd), rational(fact.valueBeforeUsd), vault.valueUsd]
  if (fact.type === 'deposit') {
    const worth = fact.assets.map(({ symbol, amount }) => times(rational(amount), priceOf(fact.prices, symbol)))
    if (compared(rounded(worth.reduce(plus, nothing), 6), amountUsd) !== 0) throw new Bad('amountUsd')
  } else if (compared(amountUsd, beforeUsd) > 0) throw new Bad('amountUsd')
  value(vault, fact.valueBeforeUsd, fact.prices)
  if (fact.type === 'deposit') {
    for (const { symbol, amount } of fact.assets) {
      const quantity = plus(vault.held.get(symbol) ?? nothing, rational(amount))
      if (compared(quantity, nothing) !== 0) vault.held.set(symbol, quantity)
    }
    vault.capitalInUsd = plus(vault.capitalInUsd, amountUsd)
    vault.valueUsd = plus(vault.valueUsd, amountUsd)
    if (vault.phase === 'exiting') vault.phase = null
  } else if (compared(amountUsd, nothing) > 0) {
    const paidUsd = rounded(over(times(heldUsd(vault, fact.prices), amountUsd), beforeUsd), 40)
    vault.paidOutUsd = plus(vault.paidOutUsd, paidUsd)
    const leftUsd = minus(beforeUsd, amountUsd)
    for (const [symbol, held] of vault.held) vault.held.set(symbol, rounded(over(times(held, leftUsd), beforeUsd), 40))
    vault.capitalOutUsd = plus(vault.capitalOutUsd, amountUsd)
    vault.valueUsd = leftUsd
  }
  price(vault, fact.prices)
  leave(vault, fact.ts, carriedUsd, beforeUsd, 'valueBeforeUsd')
}

function value(vault: VaultFold, valueUsd: string, prices: Prices): void {
  vault.valueUsd = rational(valueUsd)
  price(vault, prices)
}

function price(vault: VaultFold, prices: Prices): void {
  const worthUsd = plus(heldUsd(vault, prices), vault.paidOutUsd)
  const deltaUsd = minus(worthUsd, vault.capitalInUsd)
  vault.marketDeltaUsd = rounded(isExact(vault) ? deltaUsd : tieNear(deltaUsd), 6)
}

function heldUsd({ held }: VaultFold, prices: Prices): Rational {
  return [...held].map(([symbol, amount]) => times(amount, priceOf(prices, symbol))).reduce(plus, nothing)
}

function priceOf(prices: Prices, symbol: string): Rational {
  const found = Object.entries(prices).find(([name]) => name === symbol)
  if (found === undefined) throw new Bad(`prices.${symbol}`)
  return rational(found[1])
}

/** Adds an equity point, after checks of all limits of the database. */
function leave(vault: VaultFold, ts: number, carriedUsd: Rational, foundUsd: Rational, key: string): void {
  endExit(vault)
  const { valueUsd, capitalInUsd, capitalOutUsd, marketDeltaUsd } = vault
  vault.valued.push({ ts, carriedUsd, foundUsd, leftUsd: valueUsd })
  if ([valueUsd, capitalInUsd, capitalOutUsd].some((usd) => exceeds(usd, 32))) throw new Bad('amountUsd')
  if ([...vault.held.values()].some((amount) => exceeds(amount, 40))) throw new Bad('assets')
  if (exceeds(vault.paidOutUsd, 40)) throw new Bad('prices')
  if (exceeds(growthOf(vault.valued, dayOf(ts)), 40)) throw new Bad(key)
  if (exceeds(marketDeltaUsd, 32)) throw new Bad('prices')
  const netUsd = netOf(vault)
  if ([netUsd, minus(netUsd, marketDeltaUsd)].some((usd) => exceeds(usd, 32))) throw new Bad(key)
  vault.points.set(ts, { valueUsd, capitalInUsd, capitalOutUsd, marketDeltaUsd })
  if (!vault.isHighWaterStated && compared(netUsd, vault.highWaterUsd) > 0) vault.highWaterUsd = netUsd
}

function endExit(vault: VaultFold): void {
  const isEmpty = compared(vault.valueUsd, nothing) === 0 && vault.positions.length === 0
  if (vault.phase === 'exiting' && isEmpty) vault.phase = null
}

/** Days are (midnight, midnight]. */
export const dayOf = (ts: number): number => Math.ceil(ts / 86_400) - 1

/** Returns the growth of a day: the product of each valuation's value divided by the value carried to it. */
export function growthOf(valued: readonly Valued[], day: number): Rational {
  return valued
    .filter(({ ts, carriedUsd }) => dayOf(ts) === day && carriedUsd.n !== 0n)
    .reduce((growth, { carriedUsd, foundUsd }) => rounded(over(times(growth, foundUsd), carriedUsd), 40), {
      n: 1n,
      d: 1n,
    })
}

/** Whether no quotient that the vault's benchmark carries was rounded to its 40 decimals. */
function isExact({ held, paidOutUsd }: VaultFold): boolean {
  return [...held.values(), paidOutUsd].every((value) => compared(rounded(value, 36), value) === 0)
}

/** A value half-way between two micro-dollars, where the amount differs from one in its 31st decimal at most; or the amount. */
function tieNear(amountUsd: Rational): Rational {
  const near = rounded(amountUsd, 30)
  const halves = times(near, rational('2000000'))
  const isTie = compared(rounded(halves, 0), halves) === 0 && compared(rounded(near, 6), near) !== 0
  return isTie ? near : amountUsd
}
