import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Candidates } from '../../src/database/read/candidates.ts'

const decimal = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.option(fc.stringMatching(/^\d{1,6}$/)))
  .map(([isNegative, whole, fraction]) => `${isNegative ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}`)
const candidate = fc.tuple(fc.nat(2 ** 40), decimal, decimal, decimal, decimal)

test('candidates are told in order of time, each time once, by the numbers that their texts are', () => {
  fc.assert(
    fc.property(fc.array(candidate, { maxLength: 30 }), (lines) => {
      const text = lines.map((fields) => `${fields.join(' ')}\n`).join('')
      const candidates = new Candidates(text)
      const places = candidates.placesIn(0, Infinity)
      const curve = candidates.curve(places)
      const told = places.map((place, index) => [curve.x(index), curve.y(index), candidates.fields(place)])
      const times = [...new Set(lines.map(([ts]) => ts))].sort((a, b) => a - b)
      expect(told.map(([ts]) => ts)).toEqual(times)
      for (const [ts, netUsd, fields] of told as [number, number, string[]][]) {
        const first = lines.find(([at]) => at === ts) as (typeof lines)[number]
        expect(fields).toEqual(first.map(String))
        // A negative zero is one too.
        expect(netUsd).toBe(Number(first[1]))
      }
    }),
  )
})
