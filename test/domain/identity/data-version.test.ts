import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareVersions, nonceOf, parseDataVersion, seqOf } from '../../../src/domain/identity/data-version.ts'

test('a version has the sequence number and the nonce that it was made of', () => {
  const seqs = fc.integer({ min: 1, max: 999_999_999_999_999 })
  const nonces = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
  fc.assert(
    fc.property(seqs, nonces, (seq, nonce) => {
      const text = `${seq}.${nonce}`
      expect(parseDataVersion(text)).toEqual({ seq, text })
      expect([seqOf(text), nonceOf(text)]).toEqual([seq, String(nonce)])
    }),
  )
})

test.each([
  '',
  '7',
  '7.',
  '.7',
  '0.7',
  '07.7',
  '-7.7',
  '7.7.1',
  ' 7.7',
  '7.7\n',
  '7,7',
  '1e3.7',
  '1000000000000000.7',
  '7.12345678901234567890',
])('%j is no version', (text) => {
  expect(parseDataVersion(text)).toBeNull()
})

test.each([
  ['7.5', '7.5', 'same'],
  ['7.5', '8.1', 'older'],
  ['10.5', '9.5', 'newer'],
  ['7.5', '7.6', 'of another history'],
  ['', '1.5', 'older'],
])('%j is to %j: %s', (version, other, order) => {
  expect(compareVersions(version, other)).toBe(order)
})
