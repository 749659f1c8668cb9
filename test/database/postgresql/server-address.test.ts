import { describe, expect, test } from 'vitest'
import { addressProblem, readAddress } from '../../../src/database/postgresql/server-address.ts'

describe('the address of a server', () => {
  test.each([
    ['postgres://user:secret@host/name', 'host'],
    ['postgres://user:secret@host:6543/name', 'host:6543'],
    ['postgres://user@[::1]:6543/name', '[::1]:6543'],
    ['postgres://user:secret@/name?host=/var/run/postgresql', '/var/run/postgresql'],
    ['postgres:///name?host=/var/run/postgresql&port=6543', '/var/run/postgresql'],
    ['postgres://user:secret@%2Fvar%2Frun/name', '/var/run'],
  ])('%s is named without user and password: %s', (text, name) => {
    expect(addressProblem(text)).toBeNull()
    expect(readAddress(text)).toMatchObject({ name, database: 'name' })
  })

  test.each([
    ['postgres://user:se%23cret@host/name', ['se%23cret', 'se#cret']],
    ['postgres://host/name?user=user&password=se%23cret', ['se#cret', 'se%23cret']],
    ['postgres://user@host/name', []],
  ])('%s has the passwords %j', (text, passwords) => {
    expect(readAddress(text)).toMatchObject({
      user: 'user',
      passwords: passwords.length === 0 ? [] : (expect.arrayContaining(passwords) as string[]),
    })
  })

  test('is not quoted by the error for an invalid one', () => {
    expect(() => readAddress('postgres://user:sec#ret@host/name')).toThrow(/^[^#]*was not checked$/)
  })
})
