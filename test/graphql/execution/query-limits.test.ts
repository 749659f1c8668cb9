import fc from 'fast-check'
import { getIntrospectionQuery } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { defaultQueryLimits as queryLimits } from '../../../src/limits.ts'
import { costCalculator, type QuerySize } from '../../../src/graphql/execution/cost/cost-calculator.ts'
import type { QueryCost } from '../../../src/graphql/execution/cost/query-cost.ts'
import { OperationCache } from '../../../src/graphql/execution/operation-cache.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { countTokens } from '../../../src/graphql/execution/query-limits.ts'
import { exampleQueries } from '../../../src/http/graphql/graphiql.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { tooManyFields, withTooManyFields } from '../../support/not-compilable.ts'
import { apply, strategy } from '../../support/world.ts'

const address = `0x${'a1'.repeat(20)}`
const otherAddress = `0x${'b2'.repeat(20)}`

function figuresOf(
  source: string,
  variables: Record<string, unknown> = {},
  operationName?: string,
): QueryCost & QuerySize {
  const cache = new OperationCache(schema, { ...queryLimits, tokens: 100_000, bytes: 1_000_000 })
  const operation = cache.prepare(source, 'sender').select(operationName)
  if (operation === undefined) throw new Error(`${source} has no such operation`)
  const { coerced } = operation.coerce(variables)
  const { size } = costCalculator(schema, operation.document)(operation.definition)
  return { ...size, ...operation.costOf(coerced ?? {}) }
}

describe('the costs of a query', () => {
  test.each([
    ['{ strategies { id } }', { depth: 2, units: 21 }],
    ['{ vaults(first: 7) { nodes { address } } }', { depth: 3, units: 100 + 1 + 7 * 1 }],
    ['{ vaults { edges { node { address } } } }', { depth: 4, units: 100 + 1 + 50 * 2 }],
    [`{ vault(address: "${address}") { equity(points: 10) { ts netUsd } } }`, { depth: 3, units: 20 + 100 + 10 * 2 }],
    [
      '{ vaults(first: 3) { nodes { events(first: 4) { nodes { ts } } } } }',
      { depth: 5, units: 100 + 1 + 3 * (100 + 1 + 4 * 1) },
    ],
    [
      '{ strategies { id ... on Strategy { name } ...more } } fragment more on Strategy { sigma }',
      { units: 1 + 20 * 3 },
    ],
    ['{ vaults(first: 1, last: 7) { nodes { address } } }', { depth: 3, units: 100 + 1 + 7 }],
    ['{ vaults(where: { venue: "x" }) { totalCount } }', { depth: 2, units: 100 + 300 + 1 + 2_000 }],
    ['{ vaults(where: { valueUsd: { gte: 1 } }) { totalCount } }', { depth: 2, units: 100 + 2_000 }],
    [
      '{ vaults(first: 7, where: { valueUsd: { gte: 1 } }, orderBy: { field: NET_USD }) { nodes { address } } }',
      { depth: 3, units: 100 + 300 + 1 + 7 },
    ],
    ['{ vaults(where: { venue: null, valueUsd: null }) { totalCount } }', { depth: 2, units: 100 + 100 }],
    ['{ __typename }', { depth: 1, units: 1 }],
    [
      '{ universe { assets { symbol } x: assets(venue: "x") { symbol } pairs { a } } }',
      { units: 1 + 2 * (100 + 50) + (100 + 20) },
    ],
    [
      '{ vaults(first: 51, where: { strategy: ["a", "b", "c", "b"] }) { nodes { id } } }',
      { units: 100 + 1 + 51 + 4 + 16 },
    ],
    ['{ vaults(first: 50, where: { strategy: ["a"] }) { nodes { id } } }', { units: 100 + 1 + 50 + 1 }],
    [
      `{ vaults(first: 50, where: { owner: ["${address}", "${otherAddress}", "${address}"] }) { nodes { id } } }`,
      { units: 100 + 1 + 50 + 3 + (2 * 4 * 50) / 10 },
    ],
    ['{ strategies { description tagline id } }', { units: 1 + 20 * (6 + 6 + 1) }],
    [
      `{ strategies { ${'a'.repeat(31)}: id ${'b'.repeat(32)}: id ${'c'.repeat(100)}: id } }`,
      { units: 1 + 20 * (1 + 2 + 4) },
    ],
    [`{ vault(address: "${address}") { events { totalCount } } }`, { depth: 3, units: 20 + 100 + 100 }],
    [`{ vault(address: "${address}", at: 1700000000) { status } }`, { depth: 2, units: 20 + 200 + 1 }],
    [`{ vault(address: "${address}", at: null) { status } }`, { depth: 2, units: 20 + 1 }],
    [`{ node(id: "${address}@1700000000") { id } }`, { depth: 2, units: 20 + 200 + 1 }],
    [`{ nodes(ids: ["${address}", "${address}@1/position/a", "one@1"]) { id } }`, { units: 100 + 3 * 21 + 3 + 200 }],
    ['{ node(id: "one") { id ... on Strategy { name sigma } } }', { depth: 2, units: 20 + 3 }],
    ['{ nodes(ids: ["one", "two", "one"]) { id __typename } }', { depth: 2, units: 100 + 3 * 21 + 3 * 2 }],
    [
      '{ nodes(ids: ["one", "two"]) { ... on Vault { positions { id } } ... on Strategy { vaults(first: 3) { nodes { id } } } } }',
      { depth: 4, units: 100 + 2 * 21 + 2 * (1 + 5 + 100 + 1 + 3) },
    ],
  ])('%s', (source, figures) => {
    expect(figuresOf(source)).toMatchObject(figures)
  })

  test('include the lengths of lists from variables and their defaults', () => {
    const source = 'query ($first: Int! = 9) { vaults(first: $first) { totalCount nodes { address } } }'
    expect(figuresOf(source, { first: 5 }).units).toBe(100 + 100 + 1 + 5)
    expect(figuresOf(source).units).toBe(100 + 100 + 1 + 9)
    expect(
      figuresOf('query ($a: Address!, $n: Int!) { vault(address: $a) { equity(points: $n) { ts } } }', {
        a: address,
        n: 8,
      }).units,
    ).toBe(20 + 100 + 8)
  })

  test('include the number of ids from a variable, which may be one id', () => {
    const source = 'query ($ids: [ID!]! = ["one"]) { nodes(ids: $ids) { id } }'
    expect(figuresOf(source).units).toBe(100 + 21 + 1)
    expect(figuresOf(source, { ids: 'one' }).units).toBe(100 + 21 + 1)
    expect(figuresOf(source, { ids: [] }).units).toBe(100)
    expect(figuresOf(source, { ids: Array.from({ length: 200 }, () => 'one') }).units).toBe(100 + 200 * 21 + 200)
  })

  test('are those of the named operation', () => {
    const source = 'query One { strategies { id } } query Two { vaults(first: 2) { totalCount } }'
    expect(figuresOf(source, {}, 'Two').units).toBe(100 + 100)
  })

  test('count aliases and directives in any place', () => {
    const source =
      '{ a: strategies { b: id @skip(if: false) } ...f } fragment f on Query { c: strategies { id @include(if: true) } }'
    expect(figuresOf(source)).toMatchObject({ aliases: 3, directives: 2 })
  })

  test('of nested fragments are computed in time linear in the text, not in the response', () => {
    const levels = 60
    const fragments = Array.from(
      { length: levels },
      (_, level) =>
        `fragment f${level} on Strategy { ${level === levels - 1 ? 'id' : `...f${level + 1} ...f${level + 1}`} }`,
    )
    expect(figuresOf(`{ strategies { ...f0 } } ${fragments.join(' ')}`).units).toBe(1 + 20 * 2 ** (levels - 1))
  })

  test('of a fragment on many pages read each argument once', () => {
    const pages = Array.from({ length: 40 }, (_, at) => `a${at}: vaults(first: ${at + 1}) { ...page }`)
    const source = `query ($w: VaultWhere) { ${pages.join(' ')} }
      fragment page on VaultConnection { nodes { strategy { vaults(where: $w) { totalCount } } } }`
    const operation = new OperationCache(schema, queryLimits).prepare(source, 'sender').select(null)
    const strategy = ['one', 'two']
    let reads = 0
    const countingReads: ProxyHandler<string[]> = {
      get(list, key): unknown {
        if (key === 'length') reads++
        return Reflect.get(list, key)
      },
    }
    const cost = operation?.costOf({ w: { strategy: new Proxy(strategy, countingReads) } })
    expect(cost).toEqual(operation?.costOf({ w: { strategy } }))
    expect(reads).toBeLessThan(40)
  })

  test('count tokens as the parser does', () => {
    expect(countTokens('{ vaults(first: 2) { nodes { address } } }')).toBe(14)
    fc.assert(
      fc.property(fc.array(fc.constantFrom('id', 'name', 'sigma'), { minLength: 1, maxLength: 50 }), (fields) => {
        expect(countTokens(`{ strategies { ${fields.join(' ')} } }`)).toBe(5 + fields.length)
      }),
    )
  })
})

describe('a query over HTTP', () => {
  let database: TestDatabase
  let gateway: TestGateway

  beforeAll(async () => {
    database = await emptyDatabase()
    gateway = gatewayOn(database)
  })

  const nestedVaults = (levels: number): string =>
    levels === 0 ? 'address' : `strategy { vaults(first: 1) { nodes { ${nestedVaults(levels - 1)} } } }`

  const messageOf = async (response: Response): Promise<string | undefined> => {
    const { errors } = (await response.json()) as { errors?: { message: string }[] }
    return errors?.[0]?.message
  }

  test.each([
    ['bytes', `{ strategies { id } } # ${'x'.repeat(queryLimits.bytes)}`],
    ['lines', `{ strategies { id } }${'\n'.repeat(queryLimits.lines)}`],
    ['tokens', `{ strategies { ${'id '.repeat(queryLimits.tokens)} } }`],
    ['depth', `{ vaults(first: 1) { nodes { ${nestedVaults(6)} } } }`],
    ['aliases', `{ strategies { ${Array.from({ length: 51 }, (_, index) => `a${index}: id`).join(' ')} } }`],
    ['directives', `{ strategies { ${'id @skip(if: false) '.repeat(51)} } }`],
    ['aliasCharacters', `{ strategies { ...f } } fragment f on Strategy { ${'a'.repeat(101)}: id }`],
    ['cost', '{ vaults(first: 200) { nodes { equity(points: 2000) { ts } } } }'],
  ])('over its %s is refused with 400, the bound and its own figure, and reads nothing', async (bound, source) => {
    database.takeStatements()
    const response = await gateway.post(source)
    expect(response.status).toBe(400)
    const { errors, data } = (await response.json()) as {
      errors: { message: string; extensions: Record<string, unknown> }[]
      data?: unknown
    }
    const [error] = errors
    const limit = queryLimits[bound as keyof typeof queryLimits]
    expect(data).toBeUndefined()
    expect(error?.extensions).toMatchObject({ code: 'QUERY_OVER_BOUND', bound, most: limit })
    expect(error?.extensions['figure']).toBeGreaterThan(limit)
    expect(error?.message).toContain(String(limit))
    expect(error?.message).toContain(String(error?.extensions['figure']))
    expect(database.takeStatements()).toEqual([])
  })

  test.each([
    [
      '{ strategies { id } vaults(first: 200) { nodes { events { nodes { ts } } equity(points: 2000) { ts netUsd } } } }',
      'The query has 860322 units of cost (lists count their selection once for each item); the limit is 50000. ' +
        'Its most expensive part is vaults(first: 200) with equity(points: 2000): ask there for less, or for the rest in another query.',
    ],
    [
      `query ($ids: [ID!]! = [${'"one" '.repeat(30)}]) { nodes(ids: $ids) { ... on Vault { equity(points: 2000) { ts } } } }`,
      'Its most expensive part is nodes(ids: 30) with equity(points: 2000): ',
    ],
    [
      '{ ...all } fragment all on Query { vaults { edges { node { equity { ts netUsd changeUsd } } } } }',
      'Its most expensive part is vaults(first: 50) with equity(points: 500): ',
    ],
    [
      '{ a: strategies { ...byVenue } b: strategies { ...byVenue } } fragment byVenue on Strategy { vaults(first: 1, where: { venue: ["x"] }) { totalCount } }',
      'Its most expensive part is vaults(first: 1) with totalCount: ',
    ],
  ])('that costs too much is told what to ask instead: %s', async (source, words) => {
    expect(await messageOf(await gateway.post(source))).toContain(words)
  })

  describe('with long texts', () => {
    const description = 'é'.repeat(10_000)
    const texts = (aliases: number, more = ''): string =>
      `{ strategies { ${Array.from({ length: aliases }, (_, at) => `a${at}: description`).join(' ')} } ${more} }`
    let described: TestGateway

    beforeAll(async () => {
      const one = await emptyDatabase()
      const strategies = Array.from({ length: 6 }, (_, at) => ({ ...strategy(`s${at}`), description }) as FactInput)
      await apply(one, strategies)
      described = gatewayOn(one, { queryLimits: withTooManyFields({ ...queryLimits, responseCharacters: 1_000_000 }) })
    })

    test('is answered up to a length of its response', async () => {
      const { status, text } = await described
        .post(texts(16))
        .then(async (one) => ({ status: one.status, text: await one.text() }))
      expect([status, text.length > 960_000]).toEqual([200, true])
    })

    test.each([
      ['compiled', ''],
      ['by graphql-js', tooManyFields],
      ['by graphql-js after an error', `vault(address: "${address}") { equity(points: 1) { ts } }`],
    ])('is refused beyond it, %s', async (_how, more) => {
      const response = await described.post(texts(17, more))
      const text = await response.text()
      expect(text.length).toBeLessThan(2_000)
      const { errors, data } = JSON.parse(text) as { errors: { extensions: object }[]; data?: unknown }
      expect(data ?? null).toBeNull()
      expect(errors[0]?.extensions).toMatchObject({
        code: 'QUERY_OVER_BOUND',
        bound: 'responseCharacters',
        most: 1_000_000,
      })
    })
  })

  test('that is too expensive without a list of variable length gets an error that advises to request less', async () => {
    const narrow = gatewayOn(database, { queryLimits: { ...queryLimits, cost: 100 } })
    expect(await messageOf(await narrow.post('{ universe { assets { symbol name category } } }'))).toBe(
      'The query has 251 units of cost (lists count their selection once for each item); the limit is 100. ' +
        'Ask for fewer fields, or for some of them in another query.',
    )
  })

  test('is subject to the configured limits', async () => {
    const wide = gatewayOn(database, { queryLimits: { ...queryLimits, aliases: 51 } })
    const source = `{ strategies { ${Array.from({ length: 51 }, (_, index) => `a${index}: id`).join(' ')} } }`
    expect([(await gateway.post(source)).status, (await wide.post(source)).status]).toEqual([400, 200])
  })

  test.each([
    ['bytes', `{ strategies { id } } # ${'x'.repeat(queryLimits.bytes)}`],
    ['lines', `{ strategies { id } }${'\n'.repeat(queryLimits.lines + 1)}`],
    ['cost', '{ vaults(first: 200) { nodes { equity(points: 2000) { ts } } } }'],
    ['aliases', `{ strategies { ${Array.from({ length: 60 }, (_, index) => `a${index}: id`).join(' ')} } }`],
  ])('is 400 in each media type, whenever it is sent: %s', async (bound, query) => {
    const body = JSON.stringify({ query })
    for (const type of ['application/json', 'application/graphql-response+json', 'application/json']) {
      const response = await gateway.get('/graphql', {
        ...{ method: 'POST', body, headers: { accept: type, 'content-type': 'application/json' } },
      })
      const { errors } = (await response.json()) as { errors: { extensions: { bound: string } }[] }
      expect([response.status, errors[0]?.extensions.bound]).toEqual([400, bound])
    }
  })

  test('is refused in the media type application/json too', async () => {
    const query = encodeURIComponent('{ vaults(first: 200) { nodes { equity(points: 2000) { ts } } } }')
    const response = await gateway.get(`/graphql?query=${query}`, { headers: { accept: 'application/json' } })
    expect(response.status).toBe(400)
  })

  test.each(exampleQueries(address))(
    'of the examples is accepted, and its response has the cost: %s',
    async (source) => {
      const { extensions, errors } = (await (await gateway.post(source)).json()) as {
        extensions: unknown
        errors?: unknown
      }
      expect(errors).toBeUndefined()
      expect(extensions).toEqual({ cost: { figure: figuresOf(source).units, most: queryLimits.cost } })
    },
  )

  test('with recursive introspection is refused', async () => {
    const around = (levels: number): string => (levels === 0 ? 'name' : `fields { type { ${around(levels - 1)} } }`)
    expect((await gateway.post(`{ __schema { types { ${around(6)} } } }`)).status).toBe(400)
  })

  test('with the introspection of GraphiQL is accepted', async () => {
    const source = getIntrospectionQuery({ inputValueDeprecation: true, schemaDescription: true, oneOf: true })
    const response = await gateway.post(source)
    expect(response.status).toBe(200)
    expect(((await response.json()) as { errors?: unknown }).errors).toBeUndefined()
  })
})
