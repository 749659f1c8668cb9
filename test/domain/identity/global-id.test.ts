import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Address, toAddress } from '../../../src/domain/address.ts'
import {
  type IdentifiedObject,
  isVaultScopedId,
  ledgerRowGlobalId,
  parseGlobalId,
  positionGlobalId,
  vaultGlobalId,
} from '../../../src/domain/identity/global-id.ts'

const hex = (digits: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits })

const vault: fc.Arbitrary<Address> = hex(40).map((digits) => toAddress(`0x${digits}`))
/** Any identifier of a fact, including ones that look like parts of a global id. */
const identifier = fc
  .oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
    fc.constantFrom('/', 'position/1', 'a/event/b\n'),
  )
  .filter((text) => !text.includes('\0'))

const moment = fc.option(fc.nat({ max: 253_402_300_799 }))

const object: fc.Arbitrary<IdentifiedObject> = fc.oneof(
  fc.record({ type: fc.constant('Vault'), vault, at: moment }),
  fc.record({ type: fc.constant('Position'), vault, at: moment, positionId: identifier }),
  fc.record({
    type: fc.constant('LedgerRow'),
    vault,
    txHash: hex(64).map((digits) => `0x${digits}`),
    logIndex: fc.nat({ max: 2_147_483_647 }),
  }),
  fc.record({
    type: fc.constant('Strategy'),
    id: fc
      .oneof(
        identifier,
        vault,
        fc.tuple(vault, identifier).map((parts) => parts.join('/')),
      )
      .filter((id) => !isVaultScopedId(id)),
  }),
)

function idOf(identified: IdentifiedObject): string {
  switch (identified.type) {
    case 'Vault':
      return vaultGlobalId(identified.vault, identified.at)
    case 'Position':
      return positionGlobalId(identified.vault, identified.positionId, identified.at)
    case 'LedgerRow':
      return ledgerRowGlobalId(identified.vault, identified.txHash, identified.logIndex)
    case 'Strategy':
      return identified.id
  }
}

const address = toAddress(`0x${'a1'.repeat(20)}`)
const hash = `0x${'0f'.repeat(32)}`

describe('a global id', () => {
  test('decodes to its object, so that no two objects have the same', () => {
    fc.assert(
      fc.property(object, (identified) => {
        expect(parseGlobalId(idOf(identified))).toEqual(identified)
      }),
      {
        numRuns: 500,
      },
    )
  })

  test('of any text decodes to one object at most, whose own id differs only in the case of hex digits', () => {
    const near = fc
      .tuple(fc.constantFrom(address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`), fc.string())
      .map((parts) => parts.join('/'))
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), near, object.map(idOf)), (text) => {
        const identified = parseGlobalId(text)
        if (identified !== null) expect(idOf(identified).toLowerCase()).toBe(text.toLowerCase())
      }),
      { numRuns: 500 },
    )
  })

  test('begins with the address of its vault', () => {
    expect(positionGlobalId(address, 'first-1')).toBe(`${address}/position/first-1`)
    expect(ledgerRowGlobalId(address, hash, 3)).toBe(`${address}/event/${hash}/3`)
  })

  test.each([address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`])(
    'is read with the address as %s',
    (text) => {
      expect(parseGlobalId(text)).toEqual({ type: 'Vault', at: null, vault: address })
      expect(parseGlobalId(`${text}/position/p`)).toEqual({
        type: 'Position',
        at: null,
        vault: address,
        positionId: 'p',
      })
      expect(parseGlobalId(`${text}/event/${hash.toUpperCase().replace('X', 'x')}/0`)).toEqual({
        type: 'LedgerRow',
        vault: address,
        txHash: hash,
        logIndex: 0,
      })
    },
  )

  test.each([
    '',
    '\0',
    'a\0b',
    '\ud800',
    `0x${'aB'.repeat(20)}`,
    `0X${address.slice(2)}`,
    `${address}/`,
    `${address}/position/`,
    `${address}/position`,
    `${address}/positions/p`,
    `${address}/event/${hash}`,
    `${address}/event/${hash}/`,
    `${address}/event/${hash}/-1`,
    `${address}/event/${hash}/01`,
    `${address}/event/${hash}/2147483648`,
    `${address}/event/${hash}/1 `,
    `${address}/event/${hash.slice(0, -1)}/1`,
  ])('is none: %j', (text) => {
    expect(parseGlobalId(text)).toBeNull()
  })
})
