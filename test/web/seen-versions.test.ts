import { beforeEach, describe, expect, test } from 'vitest'
import { type Freshness, SeenVersions } from '../../src/web/data/seen-versions.ts'

let versions: SeenVersions

/** Records a poll during which no event or response arrives. */
const polled = (version: string | null): Freshness => versions.polled(version, versions.newest)

beforeEach(() => {
  versions = new SeenVersions()
})

describe('the newest version', () => {
  test('is the greatest of responses, events and polls, by its number', () => {
    expect(versions.newest).toBeNull()
    versions.answered('9.5')
    versions.saw('10.1')
    versions.saw('9.7')
    versions.answered(null)
    versions.saw(null)
    versions.saw('0.0')
    versions.saw('text')
    expect(versions.newest).toBe('10.1')
    polled('11.3')
    expect(versions.newest).toBe('11.3')
  })

  test('is the later one of two with the same number: the first is of a lost history', () => {
    versions.saw('9.5')
    versions.saw('9.7')
    expect(versions.newest).toBe('9.7')
  })

  test('is discarded when the history has lost it, and the data of all responses counts as outdated', () => {
    versions.answered('9.5')
    versions.lost('9.5')
    expect(versions.newest).toBeNull()
    expect(polled('3.1')).toBe('replaced')
  })

  test('stays when the history has lost an older one', () => {
    versions.saw('9.5')
    versions.saw('12.1')
    versions.lost('9.5')
    expect(versions.newest).toBe('12.1')
  })

  test('is not demanded if a gateway lags behind it in two successive polls: it may never be reached', () => {
    versions.answered('9.5')
    expect([polled('4.1'), versions.newest]).toEqual(['current', '9.5'])
    expect([polled('9.5'), versions.newest]).toEqual(['current', '9.5'])
    expect([polled('4.1'), versions.newest]).toEqual(['current', '9.5'])
    expect([polled('5.1'), versions.newest]).toEqual(['replaced', '5.1'])
    versions.refreshed()
    versions.answered('5.1')
    expect(polled('5.1')).toBe('current')
  })

  test('is demanded if events overtake polls: no gateway lags behind', () => {
    versions.answered('9.5')
    for (const seq of [10, 11, 12]) {
      const before = versions.newest
      versions.saw(`${seq}.1`)
      versions.polled(before, before)
    }
    expect(versions.newest).toBe('12.1')
  })

  test('is not demanded if a gateway receives no commits in two successive polls', () => {
    versions.answered('9.5')
    expect([polled(null), versions.newest]).toEqual(['current', '9.5'])
    expect([polled(null), versions.newest]).toEqual(['current', null])
    expect(polled(null)).toBe('current')
    expect(polled('9.5')).toBe('current')
    expect(polled('10.1')).toBe('older')
  })
})

describe('shown data', () => {
  test('is outdated if one of its responses is older than a polled version, until all are read again', () => {
    versions.answered('8.1')
    versions.answered('7.1')
    versions.saw('8.1')
    expect([polled('7.1'), polled('8.1'), polled('8.1')]).toEqual(['current', 'older', 'older'])
    versions.refreshed()
    expect(polled('9.1')).toBe('current')
    versions.answered('9.1')
    expect(polled('9.1')).toBe('current')
    expect(polled('10.1')).toBe('older')
  })

  test('is outdated if a response has no version, like that of a gateway without commits', () => {
    versions.answered('8.1')
    versions.answered(null)
    expect([polled(null), polled('8.1')]).toEqual(['current', 'replaced'])
  })

  test('is outdated if its version has the same number as that of another history', () => {
    versions.answered('8.1')
    expect(polled('8.2')).toBe('replaced')
  })
})
