import { beforeEach, describe, expect, test } from 'vitest'
import { SeenVersions } from '../../src/web/data/seen-versions.ts'

let versions: SeenVersions

beforeEach(() => {
  versions = new SeenVersions()
})

describe('the newest version', () => {
  test('is the greatest of answers, events and polls, by its number', () => {
    expect(versions.newest).toBeNull()
    versions.answered('9.5')
    versions.saw('10.1')
    versions.saw('9.7')
    versions.answered(null)
    versions.saw(null)
    versions.saw('0.0')
    versions.saw('text')
    expect(versions.newest).toBe('10.1')
    versions.polled('11.3')
    expect(versions.newest).toBe('11.3')
  })

  test('is the later of two with the same number: the first is of a lost history', () => {
    versions.saw('9.5')
    versions.saw('9.7')
    expect(versions.newest).toBe('9.7')
  })

  test('is forgotten when the history has lost it, and the data of all answers counts as outdated', () => {
    versions.answered('9.5')
    versions.lost('9.5')
    expect(versions.newest).toBeNull()
    expect(versions.polled('3.1')).toBe(true)
  })

  test('stays when the history has lost an older one', () => {
    versions.saw('9.5')
    versions.saw('12.1')
    versions.lost('9.5')
    expect(versions.newest).toBe('12.1')
  })

  test('does not bind where a gateway is behind it in two successive polls: it may never be reached', () => {
    versions.answered('9.5')
    expect([versions.polled('4.1'), versions.newest]).toEqual([false, '9.5'])
    expect([versions.polled('9.5'), versions.newest]).toEqual([false, '9.5'])
    expect([versions.polled('4.1'), versions.newest]).toEqual([false, '9.5'])
    expect([versions.polled('5.1'), versions.newest]).toEqual([true, '5.1'])
    versions.refreshed()
    versions.answered('5.1')
    expect(versions.polled('5.1')).toBe(false)
  })

  test('does not bind where a gateway receives no commits in two successive polls', () => {
    versions.answered('9.5')
    expect([versions.polled(null), versions.newest]).toEqual([false, '9.5'])
    expect([versions.polled(null), versions.newest]).toEqual([false, null])
    expect(versions.polled(null)).toBe(false)
    expect(versions.polled('9.5')).toBe(false)
    expect(versions.polled('10.1')).toBe(true)
  })
})

describe('shown data', () => {
  test('is outdated where one of its answers is older than a polled version, until all are read anew', () => {
    versions.answered('8.1')
    versions.answered('7.1')
    versions.saw('8.1')
    expect([versions.polled('7.1'), versions.polled('8.1'), versions.polled('8.1')]).toEqual([false, true, true])
    versions.refreshed()
    expect(versions.polled('9.1')).toBe(false)
    versions.answered('9.1')
    expect(versions.polled('9.1')).toBe(false)
    expect(versions.polled('10.1')).toBe(true)
  })

  test('is outdated where an answer has no version, as that of a gateway without commits', () => {
    versions.answered('8.1')
    versions.answered(null)
    expect([versions.polled(null), versions.polled('8.1')]).toEqual([false, true])
  })

  test('is outdated where its version has the same number as that of another history', () => {
    versions.answered('8.1')
    expect(versions.polled('8.2')).toBe(true)
  })
})
