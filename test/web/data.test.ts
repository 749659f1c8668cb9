import { parse, validate } from 'graphql'
import { describe, expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema/schema.ts'
import { csvText } from '../../src/web/data/csv.ts'
import { quoteExactNumbers } from '../../src/web/data/exact-texts.ts'
import { graphiqlLink } from '../../src/web/data/graphiql-link.ts'
import {
  UniversePoolsDocument,
  VaultFiguresDocument,
  VaultLedgerDocument,
  VaultListDocument,
} from '../../src/web/documents.generated.ts'
import { formatFeeTier, formatFraction, formatUsd } from '../../src/web/format/figures.ts'
import { formatAgo } from '../../src/web/format/times.ts'
import { timeLabels, usdLabels } from '../../src/web/panels/vault/axis-labels.ts'
import { searchTarget } from '../../src/web/data/search-target.ts'
import { allVaults, hrefOf, type PageState, readPageState, vaultState } from '../../src/web/page-state.ts'
import { addressOf } from '../support/world.ts'

describe('exact numbers', () => {
  test('are the texts that were sent, of amounts and prices alone', () => {
    const json =
      '{"valueUsd":12345678901234.123456,"ts":5,"range":{"lower":0.1,"current":1e-7,"upper":-2},"feeTier":500}'
    expect(JSON.parse(quoteExactNumbers(json))).toEqual({
      valueUsd: '12345678901234.123456',
      ts: 5,
      range: { lower: '0.1', current: '1e-7', upper: '-2' },
      feeTier: 500,
    })
  })

  test('do not touch null, nor the content of strings', () => {
    const value = { reason: 'a "valueUsd":1, \\"valueUsd":2', amountUsd: null }
    expect(JSON.parse(quoteExactNumbers(JSON.stringify(value)))).toEqual(value)
  })

  test('are formatted without losing a digit', () => {
    expect(formatUsd('12345678901234.123456')).toBe('$12,345,678,901,234.123456')
    expect(formatUsd('9007199254740993.01', { isGain: true })).toBe('+$9,007,199,254,740,993.01')
    expect(formatUsd('-0.005', { isGain: true, isRounded: true })).toBe('-$0.01')
    expect(formatUsd('0', { isGain: true })).toBe('$0.00')
    expect([-0.000001, 0, -0.0001, 0.458].map(formatFraction)).toEqual(['0.00%', '0.00%', '-0.01%', '45.80%'])
    expect([formatFeeTier(500), formatFeeTier(3000)]).toEqual(['0.05 %', '0.3 %'])
  })
})

test.each([
  [0, '0 seconds ago'],
  [59, '59 seconds ago'],
  [60, '1 minute ago'],
  [7_199, '1 hour ago'],
  [200_000, '2 days ago'],
])('an age of %i s is told as %s', (seconds, text) => expect(formatAgo(seconds)).toBe(text))

describe('an axis', () => {
  // Labels are in the time of the machine.
  const newYear = new Date(2026, 0, 1).getTime() / 1000
  const day = 86_400

  test.each([
    [30 * day, ['Jan\n2026', 'Jan', 'Mar']],
    [day, ['Jan 1\n2026', 'Jan 2', 'Jan 3']],
    [3_600, ['12:00 AM\nJan 1, 2026', '1:00 AM', '2:00 AM']],
    [30, ['12:00:00 AM\nJan 1, 2026', '12:00:30 AM', '12:01:00 AM']],
  ])('in steps of %i s has times that tell its points from each other', (step, labels) => {
    const spaces = (text: string): string => text.replaceAll('\u202f', ' ')
    expect(timeLabels([newYear, newYear + step, newYear + 2 * step], step).map(spaces)).toEqual(labels)
  })

  test('repeats the day and the year at their changes', () => {
    expect(timeLabels([newYear - day, newYear], day)).toEqual(['Dec 31\n2025', 'Jan 1\n2026'])
    expect(timeLabels([newYear - 3_600, newYear], 3_600)[1]).toMatch(/\nJan 1, 2026$/)
  })

  test.each([
    [
      [0, 20_000, 40_000],
      ['$0', '$20K', '$40K'],
    ],
    [
      [373_900, 373_900.5, 373_901],
      ['$373.9K', '$373.9005K', '$373.901K'],
    ],
    [
      [12_345_678_901_000, 12_345_678_902_000],
      ['$12.345678901T', '$12.345678902T'],
    ],
    [
      [0, 2.5, 5, 7.5, 10],
      ['$0', '$2.5', '$5', '$7.5', '$10'],
    ],
    [
      [0, 2_500, 5_000, 7_500],
      ['$0', '$2.5K', '$5K', '$7.5K'],
    ],
    [
      [1_000_000, 1_250_000, 1_500_000],
      ['$1M', '$1.25M', '$1.5M'],
    ],
    [
      [-0.001, 0, 0.001],
      ['-$0.001', '$0', '$0.001'],
    ],
    [
      [-2_000, 0, 2_000],
      ['-$2K', '$0', '$2K'],
    ],
  ])('of the amounts %j tells each as it is', (amounts, labels) => {
    expect(usdLabels(amounts, (amounts[1] ?? 0) - (amounts[0] ?? 0))).toEqual(labels)
  })

  test.each([
    ['ja', [10_000, 12_500, 15_000], ['$1万', '$1.25万', '$1.5万']],
    ['en-IN', [0, 250_000, 500_000], ['$0', '$2.5L', '$5L']],
    ['de', [1_000_000, 1_250_000], ['1 Mio. $', '1,25 Mio. $']],
  ])('tells amounts as they are in the units of %s', (locale, amounts, labels) => {
    const found = usdLabels(amounts, (amounts[1] ?? 0) - (amounts[0] ?? 0), locale)
    expect(found.map((label) => label.replaceAll('\u00a0', ' '))).toEqual(labels)
  })
})

test('CSV quotes commas, quotes and line breaks', () => {
  const rows = [
    ['a,b', 1, null],
    ['say "x"', true, 'c\nd'],
  ]
  expect(csvText({ columns: ['x', 'y', 'z'], rows })).toBe('x,y,z\r\n"a,b",1,\r\n"say ""x""",true,"c\nd"\r\n')
})

test('CSV has no text that a spreadsheet runs as a formula, and each amount as it is', () => {
  const texts = ['=HYPERLINK("x")', '+1+cmd', '-2+3', '@SUM(1)', '\t=1', '\r=1', 'a=1', "'=1", '-', '--1', '-1e5x']
  expect(
    csvText({ columns: [], rows: texts.map((text) => [text]) })
      .split('\r\n')
      .slice(1, -1),
  ).toEqual([
    ...[
      `"'=HYPERLINK(""x"")"`,
      "'+1+cmd",
      "'-2+3",
      "'@SUM(1)",
      "'\t=1",
      `"'\r=1"`,
      'a=1',
      "'=1",
      "'-",
      "'--1",
      "'-1e5x",
    ],
  ])
  const amounts = ['-0.25', '-12345678901234.654321', '-1e-7', '5', -3, true, null]
  expect(csvText({ columns: [], rows: [amounts] })).toBe('\r\n-0.25,-12345678901234.654321,-1e-7,5,-3,true,\r\n')
})

describe('a link to GraphiQL', () => {
  const address = addressOf(1)
  test.each([
    [
      VaultListDocument,
      {
        first: 25,
        orderBy: { field: 'NET_USD', direction: 'ASC' },
        where: { status: ['IDLE'], strategy: ['ETH'], owner: [address], valueUsd: { gte: '1.5' } },
      },
    ],
    [VaultLedgerDocument, { address, type: ['DEPOSIT', 'FEE'], first: 50 }],
    [UniversePoolsDocument, { asset: 'WETH' }],
  ])('has a query that the schema allows, with the variables as defaults', (source, variables) => {
    const query = new URLSearchParams(graphiqlLink(source.toString(), variables).split('?')[1]).get('query') ?? ''
    expect(validate(schema, parse(query))).toEqual([])
    for (const name of Object.keys(variables)) expect(query).toMatch(new RegExp(`\\$${name}: [\\w![\\]]+ = `))
  })

  test('has a query whose fragments are indented like its operation', () => {
    const link = graphiqlLink(VaultFiguresDocument.toString(), { address: addressOf(1) })
    const query = new URLSearchParams(link.split('?')[1]).get('query') ?? ''
    expect(query.match(/^.*(?:query|fragment) \w+/gm)).toEqual(['query VaultFigures', 'fragment VaultSummary'])
  })
})

describe('the state of the page', () => {
  test.each<PageState>([
    allVaults,
    {
      ...allVaults,
      sort: 'NET_USD',
      direction: 'ASC',
      statuses: ['EARNING', 'IDLE'],
      strategy: 'a & b',
      owner: addressOf(7),
      leastUsd: '10.5',
    },
    { view: 'vault', address: addressOf(3), since: 5, until: 9, types: ['DEPOSIT', 'WITHDRAW'] },
    { view: 'strategies' },
    { view: 'universe', category: 'STOCK_TOKEN', asset: 'WETH' },
  ])('is the same when it is read from its address: $view', (state) => {
    expect(readPageState(hrefOf(state).slice('./'.length))).toEqual(state)
  })

  test.each(['?view=x&sort=constructor&status=,,x', '?owner=0x&least=-1', '?direction=up'])(
    'is the list of all vaults for %s',
    (search) => expect(readPageState(search)).toEqual(allVaults),
  )

  test('has the address of a vault as in the link, also if it is truncated', () => {
    expect(readPageState('?vault=0x12&since=x&types=fee,nothing')).toEqual({ ...vaultState('0x12'), types: ['FEE'] })
  })
})

describe('a search', () => {
  const page = 'https://vaults.example/below/?sort=net_usd'
  const address = addressOf(7)
  const transaction = `0x${'ab'.repeat(32)}`
  test.each([
    [address, { kind: 'address', address }],
    [address.slice(2), { kind: 'address', address }],
    [`${address}:first-1`, { kind: 'address', address }],
    [`https://etherscan.io/address/${address}#code`, { kind: 'address', address }],
    [`https://etherscan.io/tx/${transaction}`, { kind: 'transaction' }],
    [transaction, { kind: 'transaction' }],
    [
      `https://vaults.example/below/?vault=${address}&since=5`,
      { kind: 'page', state: { ...vaultState(address), since: 5 } },
    ],
    [`https://vaults.example/?vault=${address}`, { kind: 'address', address }],
    ['0x12AB', { kind: 'part', head: '12ab', tail: '' }],
    ['0xF7bF36…06741A', { kind: 'part', head: 'f7bf36', tail: '06741a' }],
    ['…741a', { kind: 'part', head: '', tail: '741a' }],
    ['f7bf', { kind: 'part', head: 'f7bf', tail: '' }],
    ['0x1', { kind: 'name', name: '0x1' }],
    ['feed', { kind: 'name', name: 'feed' }],
    ['Ether Core', { kind: 'name', name: 'Ether Core' }],
  ])('%s has one meaning', (text, target) => expect(searchTarget(text, page)).toEqual(target))
})
