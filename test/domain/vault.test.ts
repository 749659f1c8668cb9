import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Decimal, zero } from '../../src/domain/decimal.ts'
import { deposit, revalue, type Valuation, withdraw } from '../../src/domain/flows.ts'
import {
  exit,
  netUsd,
  newVault,
  plant,
  resume,
  setPositions,
  statusOf,
  strategyDeltaUsd,
  suspend,
  type VaultPhase,
  type VaultState,
} from '../../src/domain/vault.ts'
import { anyUsd } from '../support/arbitraries.ts'

const hundred = new Decimal(100)
const prices = new Map([['USDC', new Decimal(1)]])

function worth(valueUsd: Decimal): Valuation {
  return { tsSeconds: 1_700_000_000, valueUsd, prices }
}

function usdc(amount: Decimal) {
  return [{ symbol: 'USDC', amount }]
}

describe('the status of a vault', () => {
  /** All combinations of suspension, phase and value, with the status without positions, all in range, one out of range. */
  const table: [
    suspended: boolean,
    phase: VaultPhase | null,
    value: number,
    none: string,
    inRange: string,
    out: string,
  ][] = [
    [true, 'exiting', 100, 'suspended', 'suspended', 'suspended'],
    [true, 'exiting', 0, 'suspended', 'suspended', 'suspended'],
    [true, 'planting', 100, 'suspended', 'suspended', 'suspended'],
    [true, 'planting', 0, 'suspended', 'suspended', 'suspended'],
    [true, null, 100, 'suspended', 'suspended', 'suspended'],
    [true, null, 0, 'suspended', 'suspended', 'suspended'],
    [false, 'exiting', 100, 'exiting', 'exiting', 'exiting'],
    [false, 'exiting', 0, 'exiting', 'exiting', 'exiting'],
    [false, 'planting', 100, 'planting', 'planting', 'planting'],
    [false, 'planting', 0, 'planting', 'planting', 'planting'],
    [false, null, 100, 'planting', 'earning', 'attention'],
    [false, null, 0, 'idle', 'earning', 'attention'],
  ]

  test.each(table)('suspended %s, phase %s, worth %i: %s, %s or %s', (suspended, phase, value, ...expected) => {
    const suspension = suspended ? { reason: 'oracle', sinceSeconds: 1 } : null
    const positions = [
      { open: 0, outOfRange: 0 },
      { open: 3, outOfRange: 0 },
      { open: 3, outOfRange: 1 },
    ]
    const statuses = positions.map((shown) =>
      statusOf({ valueUsd: new Decimal(value), phase, suspension, positions: shown }),
    )
    expect(statuses).toEqual(expected)
  })

  test('changes with a micro-dollar, or one position of many', () => {
    const none = { open: 0, outOfRange: 0 }
    expect(statusOf({ ...newVault, valueUsd: new Decimal('0.000001'), positions: none })).toBe('planting')
    expect(statusOf({ ...newVault, valueUsd: hundred, positions: { open: 50, outOfRange: 1 } })).toBe('attention')
    expect(statusOf({ ...newVault, valueUsd: hundred, positions: { open: 1, outOfRange: 1 } })).toBe('attention')
  })

  test('of a vault just opened is idle', () => {
    expect(statusOf(newVault)).toBe('idle')
  })
})

describe('the phase of a vault', () => {
  const funded = deposit(newVault, worth(zero), hundred, usdc(hundred))
  const earning = setPositions(funded, { open: 1, outOfRange: 0 })

  test.each<[string, VaultState, (vault: VaultState) => VaultState, VaultPhase | null]>([
    ['begins planting with a plant', funded, plant, 'planting'],
    ['begins exiting with an exit', earning, exit, 'exiting'],
    ['begins exiting with an exit while nothing is planted yet', funded, exit, 'exiting'],
    ['begins nothing with an exit of an empty vault', newVault, exit, null],
    ['ends planting with a mark that shows a position', plant(funded), shows(1), null],
    ['stays planting with a mark that shows none', plant(funded), shows(0), 'planting'],
    ['stays planting with a deposit', plant(funded), deposits, 'planting'],
    ['stays planting with a part withdrawn', plant(funded), withdraws('40'), 'planting'],
    ['stays planting with all withdrawn', plant(funded), withdraws('100'), 'planting'],
    ['turns from planting to exiting with an exit', plant(funded), exit, 'exiting'],
    ['turns from exiting to planting with a plant', exit(earning), plant, 'planting'],
    ['ends exiting with a deposit', exit(earning), deposits, null],
    ['ends exiting with a withdrawal of all, where no position is left', exit(funded), withdraws('100'), null],
    ['stays exiting with a withdrawal of a part', exit(funded), withdraws('99.999999'), 'exiting'],
    ['stays exiting with a withdrawal of all, while a position is left', exit(earning), withdraws('100'), 'exiting'],
    ['stays exiting with a mark of a value without positions', exit(earning), marks('100', 0), 'exiting'],
    ['stays exiting with a mark of positions without value', exit(earning), marks('0', 1), 'exiting'],
    ['ends exiting with a mark of neither', exit(earning), marks('0', 0), null],
    ['stays exiting through a suspension', exit(earning), suspends, 'exiting'],
    ['stays exiting through the end of a suspension', suspends(exit(earning)), resume, 'exiting'],
    ['stays planting through a suspension', plant(funded), suspends, 'planting'],
    ['begins nothing with a mark', funded, shows(2), null],
  ])('%s', (_name, before, fact, after) => {
    expect(fact(before).phase).toBe(after)
  })

  test('is never exiting in an empty vault, nor planting after a mark with a position', () => {
    const fact = fc.oneof<fc.Arbitrary<(vault: VaultState) => VaultState>[]>(
      fc.constantFrom(plant, exit, deposits, suspends, resume, withdraws('0'), withdraws('100')),
      fc.tuple(fc.constantFrom('0', '100'), fc.nat(2)).map(([value, open]) => marks(value, open)),
    )
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 20 }), fc.integer({ min: 1, max: 3 }), (facts, open) => {
        const vault = facts.reduce((state, next) => next(state), newVault)
        const empty = vault.valueUsd.isZero() && vault.positions.open === 0
        expect(vault.phase === 'exiting' && empty).toBe(false)
        expect(setPositions(vault, { open, outOfRange: 0 }).phase).not.toBe('planting')
      }),
    )
  })

  function shows(open: number) {
    return (vault: VaultState) => setPositions(vault, { open, outOfRange: 0 })
  }

  function marks(valueUsd: string, open: number) {
    return (vault: VaultState) => shows(open)(revalue(vault, worth(new Decimal(valueUsd))))
  }

  function deposits(vault: VaultState): VaultState {
    return deposit(vault, worth(vault.valueUsd), hundred, usdc(hundred))
  }

  function withdraws(amountUsd: string) {
    return (vault: VaultState) => withdraw(vault, worth(hundred), new Decimal(amountUsd))
  }

  function suspends(vault: VaultState): VaultState {
    return suspend(vault, 'oracle', 1_700_000_000)
  }
})

describe('a suspension', () => {
  test('has a reason and a time, and is removed completely when lifted', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.nat(),
        fc.constantFrom<VaultPhase | null>('planting', 'exiting', null),
        (reason, since, phase) => {
          const vault = { ...newVault, phase }
          const suspended = suspend(vault, reason, since)
          expect(suspended.suspension).toEqual({ reason, sinceSeconds: since })
          expect(statusOf(suspended)).toBe('suspended')
          expect(resume(suspended)).toEqual(vault)
        },
      ),
    )
  })

  test('that follows another replaces it', () => {
    expect(suspend(suspend(newVault, 'first', 1), 'second', 2).suspension).toEqual({
      reason: 'second',
      sinceSeconds: 2,
    })
  })
})

describe('net of flows', () => {
  const micros = (amount: Decimal): bigint => BigInt(amount.times(1_000_000).toFixed())

  test('is value + out - in, and its two parts sum to it, to the micro-dollar at any size', () => {
    fc.assert(
      fc.property(
        anyUsd,
        anyUsd,
        anyUsd,
        anyUsd,
        fc.boolean(),
        (valueUsd, capitalInUsd, capitalOutUsd, delta, lost) => {
          const marketDeltaUsd = lost ? zero.minus(delta) : delta
          const vault = { ...newVault, valueUsd, capitalInUsd, capitalOutUsd, marketDeltaUsd }
          const net = micros(valueUsd) + micros(capitalOutUsd) - micros(capitalInUsd)
          expect(micros(netUsd(vault))).toBe(net)
          expect(micros(strategyDeltaUsd(vault)) + micros(marketDeltaUsd)).toBe(net)
        },
      ),
    )
  })
})
