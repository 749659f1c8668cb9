import fc from 'fast-check'
import { keccak256, stringToBytes } from 'viem/utils'
import { describe, expect, test } from 'vitest'
import { toAddress } from '../../src/domain/address.ts'
import { InvalidAddress } from '../../src/domain/errors.ts'
import { heapBytes } from '../support/heap.ts'

const digits = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 40, maxLength: 40 })
/** Digits with few letters, so that a changed one may leave letters of a single case. */
const mostlyNumbers = fc.string({ unit: fc.constantFrom(...'012345678a'), minLength: 40, maxLength: 40 })

/** Longer than the displayed part, of one character, whose escape may take six. */
const longText = fc
  .tuple(fc.string({ minLength: 1, maxLength: 1 }), fc.integer({ min: 43, max: 5_000 }))
  .map(([unit, length]) => unit.repeat(length))

/** Reference implementation of EIP-55: a letter is upper case where the hash of the digits has 8 or more at its index. */
function checksummed(lower: string): string {
  const hash = keccak256(stringToBytes(lower)).slice(2)
  return `0x${lower.replace(/[a-f]/g, (letter, at: number) => (Number.parseInt(hash.charAt(at), 16) >= 8 ? letter.toUpperCase() : letter))}`
}

function flippedAt(text: string, at: number): string {
  const letter = text.charAt(at)
  const flipped = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase()
  return text.slice(0, at) + flipped + text.slice(at + 1)
}

describe('an address', () => {
  test.each([
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
    '0xde709f2102306220921060314715629080e2fb77',
    '0x27b1fdb04752bbc536007a920d24acb045561c26',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ])('of the examples of EIP-55, %s, is itself', (address) => {
    expect(toAddress(address)).toBe(address)
  })

  test('has the same result for each valid spelling', () => {
    fc.assert(
      fc.property(fc.oneof(digits, mostlyNumbers), (lower) => {
        const address = checksummed(lower)
        expect(toAddress(`0x${lower}`)).toBe(address)
        expect(toAddress(`0x${lower.toUpperCase()}`)).toBe(address)
        expect(toAddress(address)).toBe(address)
      }),
    )
  })

  test('with one letter in the wrong case is refused, unless all letters have one case', () => {
    fc.assert(
      fc.property(fc.oneof(digits, mostlyNumbers), (lower) => {
        const address = checksummed(lower)
        for (const { index } of lower.matchAll(/[a-f]/g)) {
          const flipped = flippedAt(address, index + 2)
          const letters = flipped.slice(2)
          if (letters === letters.toLowerCase() || letters === letters.toUpperCase()) {
            expect(toAddress(flipped)).toBe(address)
          } else {
            expect(() => toAddress(flipped)).toThrow(InvalidAddress)
            expect(() => toAddress(flipped)).toThrow('checksum')
          }
        }
      }),
    )
  })

  test.each([
    ['is empty', ''],
    ['has no 0x', 'a1'.repeat(20)],
    ['has a capital X', `0X${'a1'.repeat(20)}`],
    ['is a digit short', `0x${'a'.repeat(39)}`],
    ['is a digit long', `0x${'a'.repeat(41)}`],
    ['has a letter past f', `0x${'a'.repeat(39)}g`],
    ['has a space before it', ` 0x${'a1'.repeat(20)}`],
    ['has a newline after it', `0x${'a1'.repeat(20)}\n`],
    ['is a name', 'vitalik.eth'],
  ])('that %s is refused', (_case, text) => {
    expect(() => toAddress(text)).toThrow(InvalidAddress)
    expect(() => toAddress(text)).toThrow('is not 0x and 40 hex digits')
  })

  test('that is refused is displayed in part only, for any length', () => {
    fc.assert(
      fc.property(longText, (text) => {
        expect(() => toAddress(text)).toThrow(
          expect.objectContaining({ key: 'address', message: expect.stringMatching(/^.{0,620}$/s) as string }),
        )
      }),
    )
  })
})

test('a cached address retains no reference to the text that contained it', () => {
  const before = heapBytes()
  for (let number = 0; number < 2_000; number++) {
    const digits = number.toString(16).padStart(40, 'a')
    const document = Buffer.from(`{ vault(address: "0x${digits}") }`.padEnd(20_000, '#')).toString('latin1')
    toAddress(document.slice(18, 60))
  }
  expect(heapBytes() - before).toBeLessThan(5_000_000)
})
