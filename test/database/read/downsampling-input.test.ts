import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DownsamplingInput } from '../../../src/database/read/downsampling-input.ts'
import type { EquityRow } from '../../../src/database/read/rows.ts'

const vaultAddress = '0x1'
const decimal = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.option(fc.stringMatching(/^\d{1,6}$/)))
  .map(([isNegative, whole, fraction]) => `${isNegative ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}`)
const candidate: fc.Arbitrary<EquityRow> = fc.record({
  vaultAddress: fc.constant(vaultAddress),
  ts: fc.oneof(fc.nat(60), fc.nat(2 ** 40)),
  netUsd: decimal,
  valueUsd: decimal,
  capitalInUsd: decimal,
  capitalOutUsd: decimal,
})
/** In order of time; there may be several of the same. */
const candidates = fc.array(candidate, { maxLength: 30 }).map((rows) => rows.sort((one, other) => one.ts - other.ts))

function textOf(rows: readonly EquityRow[]): string {
  return rows.map((row) => [row.ts, row.netUsd, row.valueUsd, row.capitalInUsd, row.capitalOutUsd].join(' ')).join('\n')
}

function rowsOf(read: DownsamplingInput): EquityRow[] {
  return Array.from({ length: read.length }, (_, index) => read.row(vaultAddress, index))
}

/** The first of each time. */
function eachOnce(rows: readonly EquityRow[]): EquityRow[] {
  return rows.filter(({ ts }, index) => ts !== rows[index - 1]?.ts)
}

describe('downsampling input', () => {
  test('is ascending by time, without duplicates, with the numbers that the texts denote', () => {
    fc.assert(
      fc.property(candidates, fc.nat(30), fc.nat(500), (rows, cut, characters) => {
        const read = new DownsamplingInput(characters)
        read.add(textOf(rows.slice(0, cut)))
        read.add(textOf(rows.slice(cut)))
        const wanted = eachOnce(rows)
        expect(rowsOf(read)).toEqual(wanted)
        expect(Array.from(read.x).slice(0, read.length)).toEqual(wanted.map(({ ts }) => ts))
        // A negative zero is one too.
        expect(Array.from(read.y).slice(0, read.length)).toEqual(wanted.map(({ netUsd }) => Number(netUsd)))
      }),
    )
  })

  test('contains of the outer points only the first, last, smallest and largest', () => {
    fc.assert(
      fc.property(candidates, fc.nat(30), fc.nat(30), (rows, one, other) => {
        const points = eachOnce(rows)
        const [from, to] = [Math.min(one, other), Math.max(one, other)]
        const read = new DownsamplingInput(0)
        read.addExtremes(textOf(points.slice(0, from)))
        read.add(textOf(points.slice(from, to)))
        read.addExtremes(textOf(points.slice(to)))
        expect(rowsOf(read)).toEqual([
          ...outlined(points.slice(0, from)),
          ...points.slice(from, to),
          ...outlined(points.slice(to)),
        ])
        const wanted = rowsOf(read)
        expect(Array.from(read.x).slice(0, read.length)).toEqual(wanted.map(({ ts }) => ts))
        expect(Array.from(read.y).slice(0, read.length)).toEqual(wanted.map(({ netUsd }) => Number(netUsd)))
      }),
    )
  })
})

function outlined(rows: readonly EquityRow[]): EquityRow[] {
  const values = rows.map(({ netUsd }) => Number(netUsd))
  const ends = [Math.min(...values), Math.max(...values)].map((value) => values.indexOf(value))
  return rows.filter((_, index) => index === 0 || index === rows.length - 1 || ends.includes(index))
}
