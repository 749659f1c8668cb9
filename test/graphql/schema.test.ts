import {
  DirectiveLocation,
  getNamedType,
  type GraphQLNamedType,
  type GraphQLScalarType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  parseValue,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema/schema.ts'

/** A field, an argument or an input field, by its coordinate. */
interface Member {
  readonly at: string
  readonly name: string
  readonly type: string
  readonly description: string
}

interface Named {
  readonly name: string
  readonly type: Parameters<typeof getNamedType>[0]
  readonly description?: string | null | undefined
}

const types = Object.values(schema.getTypeMap()).filter(
  (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
)

function member(at: string, { name, type, description }: Named): Member {
  return { at, name, type: String(getNamedType(type)), description: description ?? '' }
}

const typesWithFields = types.filter((type) => isObjectType(type) || isInterfaceType(type))
const fields = typesWithFields.flatMap((type) =>
  Object.values(type.getFields()).map((field) => ({
    ...member(`${type.name}.${field.name}`, field),
    args: field.args,
  })),
)
const args = fields.flatMap(({ at, args }) => args.map((arg) => member(`${at}(${arg.name}:)`, arg)))
const inputFields = types
  .filter(isInputObjectType)
  .flatMap((type) => Object.values(type.getFields()).map((field) => member(`${type.name}.${field.name}`, field)))
const enumValues = types
  .filter(isEnumType)
  .flatMap((type) =>
    type.getValues().map(({ name, description }) => ({ at: `${type.name}.${name}`, name, description })),
  )
const members: Member[] = [...fields, ...args, ...inputFields]

/** Returns the coordinates of members that violate a rule, so that a failed test shows all of them. */
function offenders<Item extends { at: string }>(items: readonly Item[], holds: (item: Item) => boolean): string[] {
  expect(items.length).toBeGreaterThan(0)
  return items.filter((item) => !holds(item)).map(({ at }) => at)
}

const isSentence = (text: string | null | undefined): boolean => /^[A-Z0-9].*\.$/s.test(text ?? '')

describe('the description', () => {
  test('of each type is a sentence', () => {
    const described = types.map((type: GraphQLNamedType) => ({ at: type.name, description: type.description }))
    expect(offenders(described, ({ description }) => isSentence(description))).toEqual([])
  })

  test.each([
    ['field', fields as readonly Member[]],
    ['argument', args],
    ['input field', inputFields],
  ])('of each %s is a sentence', (_, items) => {
    expect(offenders(items, ({ description }) => isSentence(description))).toEqual([])
  })

  test('of each value of an enum is a sentence', () => {
    expect(offenders(enumValues, ({ description }) => isSentence(description))).toEqual([])
  })

  test('of each amount names its unit', () => {
    const amounts = fields.filter(({ name, type }) => type === 'Usd' || name.endsWith('Usd'))
    expect(offenders(amounts, ({ type, description }) => type === 'Usd' && /\bUSD\b/.test(description))).toEqual([])
  })

  test('of each price names its unit', () => {
    const prices = fields.filter(({ type }) => type === 'Price')
    expect(offenders(prices, ({ description }) => description.includes('units of b for one a'))).toEqual([])
  })

  test('of each return names its unit', () => {
    // These are integers of more than 32 bits.
    const integers = ['Feed.line', 'Vault.chainId']
    const returns = fields.filter(({ type, at }) => type === 'Float' && !integers.includes(at))
    expect(returns.map(({ at }) => at)).toEqual([
      'Performance.maxDrawdown',
      'Performance.timeWeightedReturn',
      'Performance.volatility',
      'Strategy.liveApr',
      'Strategy.sigma',
    ])
    // Return and drawdown refer to their whole window.
    const ofWindow = ['Performance.maxDrawdown', 'Performance.timeWeightedReturn']
    const unit = (at: string): string => (ofWindow.includes(at) ? 'fraction (0.12 is 12 %)' : 'annualised fraction')
    expect(offenders(returns, ({ at, description }) => description.includes(unit(at)))).toEqual([])
  })

  test('of each time and fee names its unit', () => {
    const times = fields.filter(({ type }) => type === 'UnixTime')
    expect(offenders(times, ({ description }) => description.includes('Unix seconds'))).toEqual([])
    const tiers = fields.filter(({ name }) => name === 'feeTier')
    expect(offenders(tiers, ({ description }) => description.includes('hundredths of a basis point'))).toEqual([])
  })
})

/** A return that is weighted by time: neither a time nor a weight. */
const timeWeighted = 'timeWeightedReturn'

describe('the schema', () => {
  test('is read-only', () => {
    expect(schema.getMutationType()).toBeUndefined()
    expect([schema.getQueryType()?.name, schema.getSubscriptionType()?.name]).toEqual(['Query', 'Subscription'])
  })

  test('has no Int for a time or a block, which may exceed 32 bits', () => {
    const times = members.filter(
      ({ name }) => /^ts$|at$|since|until|time/i.test(name) && !['format', timeWeighted].includes(name),
    )
    expect(offenders(times, ({ type }) => type === 'UnixTime')).toEqual([])
    const blocks = members.filter(({ name }) => /block/i.test(name))
    expect(offenders(blocks, ({ type }) => type === 'BlockNumber' || type === 'Block')).toEqual([])
    const ints = members.filter(({ type }) => type === 'Int').map(({ name }) => name)
    expect([...new Set(ints)].sort()).toEqual(
      [
        'ageSeconds',
        'current',
        'feeTier',
        'first',
        'last',
        'logIndex',
        'lower',
        'points',
        'totalCount',
        'upper',
      ].sort(),
    )
  })

  test("names nothing after the screen's model", () => {
    const named = [...members, ...enumValues, ...types.map(({ name }) => ({ at: name, name }))]
    const ofModel = /scor|rank|weight|model|signal|factor|rating|confiden|priorit|ordinal/i
    expect(offenders(named, ({ name }) => name === timeWeighted || !ofModel.test(name))).toEqual([])
  })

  test('has only the assets and pairs of the universe that passed the screen', () => {
    const namesOf = (type: string): string[] =>
      fields.filter(({ at }) => at.startsWith(`${type}.`)).map(({ name }) => name)
    expect(namesOf('Universe')).toEqual(['assets', 'pairs', 'screenedAt'])
    expect(namesOf('UniverseAsset')).toEqual(['category', 'liquidityUsd', 'name', 'symbol', 'venues'])
    expect(namesOf('UniversePair')).toEqual(['a', 'b', 'emissions', 'tvlUsd', 'venues'])
  })

  test('has the interface Node for exactly the objects that can be fetched by id', () => {
    const node = schema.getType('Node')
    const implementing = isInterfaceType(node) ? schema.getPossibleTypes(node).map(({ name }) => name) : []
    expect(implementing).toEqual(['LedgerRow', 'Position', 'Strategy', 'Vault'])
    const withId = fields.filter(({ name }) => name === 'id')
    expect(withId.map(({ at, type }) => [at, type])).toEqual(
      [...implementing, 'Node'].sort().map((type) => [`${type}.id`, 'ID']),
    )
    expect(String(schema.getQueryType()?.getFields()['node']?.type)).toBe('Node')
    expect(String(schema.getQueryType()?.getFields()['nodes']?.type)).toBe('[Node]!')
  })

  test('has enums in capitals', () => {
    expect(offenders(enumValues, ({ name }) => /^[A-Z][A-Z_]*$/.test(name))).toEqual([])
  })
})

test('the directives of documents are those that the compiler evaluates', () => {
  const { FIELD, FRAGMENT_SPREAD, INLINE_FRAGMENT, QUERY, SUBSCRIPTION, FRAGMENT_DEFINITION } = DirectiveLocation
  const executable: readonly string[] = [
    ...[FIELD, FRAGMENT_SPREAD, INLINE_FRAGMENT],
    ...[QUERY, SUBSCRIPTION, FRAGMENT_DEFINITION],
  ]
  const ofDocuments = schema.getDirectives().filter(({ locations }) => locations.some((at) => executable.includes(at)))
  expect(ofDocuments.map(({ name }) => name).sort()).toEqual(['include', 'skip'])
})

describe('a literal of a time', () => {
  const { parseLiteral } = schema.getType('UnixTime') as GraphQLScalarType
  const parsed = (literal: string): unknown => parseLiteral(parseValue(literal))

  test.each([
    ['1763424000', 1_763_424_000],
    ['1e9', 1_000_000_000],
    ['7.0', 7],
  ])('%s is the same as in a variable', (literal, time) => {
    expect(parsed(literal)).toBe(time)
  })

  test.each([
    ['1.5', '1.5'],
    ['true', 'true'],
    ['"1"', '"1"'],
    ['[1]', '"[1]"'],
    ['NOW', '"NOW"'],
  ])('%s is refused, and told as it was given', (literal, told) => {
    expect(() => parsed(literal)).toThrow(`${told} is not a time in Unix seconds`)
  })
})
