import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DownsamplingInput } from '../../../src/database/read/downsampling-input.ts'
import type { EquityRow } from '../../../src/database/read/rows.ts'
import { Decimal } from '../../../src/domain/decimal.ts'

const vaultAddress = '0x1'
const decimal = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.option(fc.stringMatching(/^\d{1,6}$/)))
  .map(([isNegative, whole, fraction]) => `${isNegative ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}`)
const micros = (min: number, max: number): fc.Arbitrary<string> =>
  fc.integer({ min, max }).map((amount) => new Decimal(amount).div(1e6).toFixed())
const amount = fc.oneof(decimal, micros(-(10 ** 15), 10 ** 15))
const capital = fc.oneof(
  micros(0, 10 ** 15),
  decimal.map((text) => text.replace('-', '')),
)
/** The value follows from the other amounts. */
const candidate: fc.Arbitrary<EquityRow> = fc
  .record({
    vaultAddress: fc.constant(vaultAddress),
    ts: fc.oneof(fc.nat(60), fc.nat(2 ** 40)),
    netUsd: amount,
    capitalInUsd: capital,
    capitalOutUsd: capital,
    marketDeltaUsd: fc.option(amount),
    previousNetUsd: fc.constant(null),
  })
  .map((row) => {
    const value = new Decimal(row.netUsd).plus(row.capitalInUsd).minus(row.capitalOutUsd)
    return { ...row, valueUsd: value.isZero() ? '0' : value.toFixed() }
  })
/** Rows in order of time, with duplicates. */
const candidates = fc.array(candidate, { maxLength: 30 }).map((rows) => rows.sort((one, other) => one.ts - other.ts))

function textOf(rows: readonly EquityRow[]): string {
  return rows
    .map((row) => [row.ts, row.netUsd, row.capitalInUsd, row.capitalOutUsd, row.marketDeltaUsd].join(' '))
    .join('\n')
}

function rowsOf(read: DownsamplingInput): EquityRow[] {
  return Array.from({ length: read.length }, (_, index) => read.row(vaultAddress, index, null))
}

/** Returns the first row of each time. */
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

  test('contains only the least and the greatest point of each bucket, and the outer ends', () => {
    fc.assert(
      fc.property(candidates, fc.nat(30), fc.nat(30), fc.integer({ min: 1, max: 9 }), (rows, one, other, each) => {
        const points = eachOnce(rows)
        const [from, to] = [Math.min(one, other), Math.max(one, other)]
        const read = new DownsamplingInput(0)
        read.addBuckets(textOf(points.slice(0, from)), () => each, 'first')
        read.add(textOf(points.slice(from, to)))
        read.addBuckets(textOf(points.slice(to)), () => each, 'last')
        expect(rowsOf(read)).toEqual([
          ...extremes(points.slice(0, from), each, 0),
          ...points.slice(from, to),
          ...extremes(points.slice(to), each, points.length - to - 1),
        ])
        const wanted = rowsOf(read)
        expect(Array.from(read.x).slice(0, read.length)).toEqual(wanted.map(({ ts }) => ts))
        expect(Array.from(read.y).slice(0, read.length)).toEqual(wanted.map(({ netUsd }) => Number(netUsd)))
      }),
    )
  })
})

/** Returns the extremes of each bucket of this number of rows, and the row at an end. */
function extremes(rows: readonly EquityRow[], each: number, end: number): EquityRow[] {
  return rows.filter((_, index) => {
    const start = index - (index % each)
    const values = rows.slice(start, start + each).map(({ netUsd }) => Number(netUsd))
    const at = [Math.min(...values), Math.max(...values)].map((value) => start + values.indexOf(value))
    return index === end || at.includes(index)
  })
}
