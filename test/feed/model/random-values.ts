import { compared, exceeds, plus, rational, rounded, textOf } from './rational.ts'
import { pick } from './spelling.ts'

export const symbols = ['USDC', 'WETH', 'constructor', '1', 'ü "\\ é', '__proto'] as const
export const texts = [
  '',
  'a',
  '"quoted" \\ and / more',
  'line\nbreak\t',
  '中文 🙂',
  '\u0001\u007f\u2028',
  '<script>',
  '{}',
  'null',
] as const

/** Generates amounts, prices and positions: usual ones, and those at the limits of their columns. */
export class RandomValues {
  constructor(readonly random: () => number) {}

  pick<Item>(items: readonly Item[]): Item {
    return pick(this.random, items)
  }

  usd(): string {
    const micros = Math.floor(this.random() * 1e12)
    const usual = textOf({ n: BigInt(micros), d: 1_000_000n }, 6)
    return this.random() < 0.7
      ? usual
      : this.pick(['0', '0.000001', '1', '1000000', '999999.999999', `${'9'.repeat(this.pick([15, 31, 32]))}.999999`])
  }

  amount(): string {
    return this.random() < 0.5
      ? this.usd()
      : this.pick([
          '0',
          '0.000000000000000001',
          '0.0000005',
          '0.0000015',
          '0.0000025',
          '1',
          '3',
          '0.333333333333333333',
          '9'.repeat(20),
        ])
  }

  price(): string {
    return this.pick([
      '0',
      '1',
      '1',
      '1',
      '0.5',
      '2000.25',
      '0.000000000000000001',
      '0.333333333333333333',
      '1.5',
      '123456789.123456789123456789',
      '9'.repeat(this.random() < 0.1 ? 60 : 9),
    ])
  }

  /** Returns a part of an amount, all of it, or a micro-dollar more, which is invalid. */
  part(usd: string): string {
    const all = rational(usd)
    const more = plus(all, rational('0.000001'))
    const third = { n: all.n / this.pick([2n, 3n, 7n]), d: all.d }
    return this.pick([
      usd,
      usd,
      '0',
      textOf(rounded(third, 6), 6),
      textOf(rounded(third, 6), 6),
      exceeds(more, 32) ? usd : textOf(more, 6),
    ])
  }

  position(id: string) {
    const prices = [this.price(), this.price(), this.price()].sort((a, b) => compared(rational(a), rational(b)))
    const [lower = '', middle = '', upper = ''] = prices
    const current = this.pick([lower, middle, upper, this.price()])
    const tick = (): number => Math.floor((this.random() - 0.5) * this.pick([4, 1_774_544, 4_294_967_290]))
    const [low = 0, high = 0] = [tick(), tick()].sort((a, b) => a - b)
    const ticks = { lower: low, upper: high, current: this.pick([low, high, tick()]) }
    return {
      id,
      pool: {
        a: this.pick(symbols),
        b: this.pick(symbols),
        venue: this.pick(['dex', 'é "']),
        feeTier: this.pick([0, 500, 1_000_000]),
      },
      range: { lower, upper, current },
      ...(this.random() < 0.5 && { ticks }),
      pendingRewardsUsd: this.usd(),
    }
  }
}
