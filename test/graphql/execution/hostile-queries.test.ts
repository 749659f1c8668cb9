import { GraphQLError } from 'graphql'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defaultQueryLimits, maxFilterValues, maxMessageCharacters, maxValidationErrors } from '../../../src/limits.ts'
import type { Database, Statement, Value } from '../../../src/database/database.ts'
import { eventTypes } from '../../../src/domain/ledger.ts'
import { vaultStatuses } from '../../../src/domain/vault.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { heapBytes } from '../../support/heap.ts'
import { apply } from '../../support/world.ts'

let database: TestDatabase
let gateway: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
  gateway = gatewayOn(database)
})

beforeEach(() => {
  database.takeStatements()
})

function sent(body: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }
  return gateway.app.fetch(new Request('http://gateway.test/graphql', { method: 'POST', headers, body }))
}

interface Refused {
  readonly errors: { readonly message: string; readonly extensions: Readonly<Record<string, unknown>> }[]
}

/** Expects a refusal with status 400 and one short error, without a read of the database. */
async function refusalOf(response: Response): Promise<Refused['errors'][number]> {
  expect(response.status).toBe(400)
  const { errors } = (await response.json()) as Refused
  const [error] = errors
  expect(errors).toHaveLength(1)
  // One character marks the truncation.
  expect(error?.message.length).toBeLessThanOrEqual(maxMessageCharacters + 1)
  expect(database.takeStatements()).toEqual([])
  return error as Refused['errors'][number]
}

const filtered = 'query ($where: VaultWhere) { vaults(where: $where) { nodes { address } } }'
const owned = 'query ($owner: [Address!]) { vaults(where: { owner: $owner }) { nodes { address } } }'
const keys = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`u${index}`, index]))
const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`)

const fragmentWithCondition = 'fragment g on Strategy { id @include(if: $a) }'

describe('variables', () => {
  test.each([
    ['unknown input keys', filtered, { where: keys(4_000) }],
    ['addresses', owned, { owner: addresses(1_200) }],
    ['wrong addresses', owned, { owner: Array.from({ length: 6_000 }, () => 'none') }],
    ['lists in lists', owned, { owner: [addresses(600), addresses(600)] }],
    ['undeclared variables', owned, keys(2_000)],
  ])('that have more values than are coerced are refused before that: %s', async (_, query, variables) => {
    const { extensions } = await refusalOf(await gateway.post(query, variables))
    expect(extensions).toMatchObject({ code: 'QUERY_OVER_BOUND', bound: 'variableValues' })
  })

  test('nested as deeply as the body limit permits are refused too', async () => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000)
    const body = `{"query": ${JSON.stringify(owned)}, "variables": {"owner": ${deep}}}`
    const { extensions } = await refusalOf(await sent(body))
    expect(extensions).toMatchObject({ code: 'QUERY_OVER_BOUND', bound: 'variableValues' })
  })

  test('with more characters than the limit are refused before coercion', async () => {
    const owner = ['x'.repeat(defaultQueryLimits.variableCharacters + 1)]
    const { extensions } = await refusalOf(await gateway.post(owned, { owner }))
    expect(extensions).toMatchObject({ code: 'QUERY_OVER_BOUND', bound: 'variableCharacters' })
  })

  test.each([
    ['unknown input keys', filtered, { where: keys(900) }],
    ['wrong addresses', owned, { owner: Array.from({ length: 900 }, (_, index) => `none ${index}`) }],
    ['a long word', owned, { owner: 'x'.repeat(30_000) }],
  ])('with many errors are refused by the first: %s', async (_, query, variables) => {
    const { extensions } = await refusalOf(await gateway.post(query, variables))
    expect(extensions['code']).toBe('BAD_USER_INPUT')
  })
})

describe('a filter', () => {
  const query = `query ($status: [VaultStatus!], $strategy: [ID!], $owner: [Address!]) {
    vaults(where: { status: $status, strategy: $strategy, owner: $owner }) { totalCount nodes { address } } }`
  const ledger = `query ($type: [EventType!]) { vault(address: "${vaultThatIs.earning}") {
    events(type: $type) { totalCount nodes { ts } } } }`

  test.each<[string, string, Record<string, unknown>, number]>([
    ['status', query, { status: Array(700).fill('IDLE') }, vaultStatuses.length],
    ['strategy', query, { strategy: addresses(maxFilterValues + 1) }, maxFilterValues],
    ['owner', query, { owner: addresses(maxFilterValues + 1) }, maxFilterValues],
    ['type', ledger, { type: Array(700).fill('DEPOSIT') }, eventTypes.length],
  ])('by more values of %s than it takes is refused', async (argument, source, variables, most) => {
    const response = await gateway.post(source, variables)
    const { errors } = (await response.json()) as Refused
    const count = (variables[argument] as unknown[]).length
    expect(errors[0]).toMatchObject({
      message: `${argument} has ${count} values, more than ${most}`,
      extensions: { code: 'BAD_USER_INPUT', argument },
    })
    expect(database.takeStatements().filter((name) => name !== 'vaults_by_address')).toEqual([])
  })

  test('on a REST path has each type once, however often it is repeated', async () => {
    const path = `/vault/${vaultThatIs.earning}/events?type=`
    const [once, often] = await Promise.all(
      [1, 900].map(async (times) => (await gateway.get(path + Array(times).fill('deposit').join(','))).text()),
    )
    expect(often).toEqual(once)
    expect(once).toContain('deposit')
  })

  test('reads each value once, however often it is repeated', async () => {
    const sent: (readonly Value[])[] = []
    const recording: Database = {
      ...database,
      read: (statement: Statement, values: readonly Value[]) => {
        sent.push(values)
        return database.read(statement, values)
      },
    }
    const { query: ask } = gatewayOn(recording)
    await ask(query, {
      status: ['IDLE', 'EARNING', 'IDLE'],
      strategy: ['a', 'b', 'a'],
      owner: [...addresses(2), ...addresses(2)],
    })
    await ask(ledger, { type: ['DEPOSIT', 'FEE', 'DEPOSIT'] })
    const lists = sent.flatMap((values) => values.filter((value) => Array.isArray(value)))
    expect(lists.length).toBeGreaterThan(8)
    for (const list of lists) expect(list).toEqual([...new Set(list)])
  })

  test('costs as much as the number of compared values', async () => {
    const costOf = async (variables: Record<string, unknown>): Promise<number> => {
      const { extensions } = (await (await gateway.post(query, variables)).json()) as {
        extensions: { cost: { figure: number } }
      }
      return extensions.cost.figure
    }
    // Each value, and a tenth of the rows of four pages of each owner, which are merged.
    const added = (await costOf({ owner: addresses(150), status: ['IDLE'] })) - (await costOf({}))
    expect(added).toBe(151 + (150 * 4 * 50) / 10)
  })
})

describe('a document', () => {
  test('whose fragments spread themselves is refused, and not reported as an error', async () => {
    const fragments = Array.from({ length: 90 }, (_, index) => {
      return `fragment f${index} on Strategy { id ...f${(index + 1) % 90} ...f${(index + 2) % 90} }`
    })
    const response = await gateway.post(`{ strategies { ...f0 } } ${fragments.join(' ')}`)
    const { extensions } = await refusalOf(response)
    expect(extensions['code']).toBe('GRAPHQL_VALIDATION_FAILED')
    expect(gateway.reported).toEqual([])
  })

  test.each([
    ['in a selection', `{ ${'strategies { id } '.repeat(240)} }`],
    ['in inline fragments', `{ ${'... { strategies { id } } '.repeat(120)} }`],
    ['in a fragment', `{ ...f } fragment f on Query { ${'strategies { id } '.repeat(230)} }`],
    [
      'in fragments of a selection',
      `{ ...f ...g ...h } ${['f', 'g', 'h'].map((name) => `fragment ${name} on Query { ${'strategies { id } '.repeat(60)} }`).join(' ')}`,
    ],
  ])('that repeats a field more often than validation compares is refused before that: %s', async (_, query) => {
    const { extensions } = await refusalOf(await gateway.post(query))
    expect(extensions).toMatchObject({ code: 'QUERY_OVER_BOUND', bound: 'repeats' })
  })

  test('whose nested fragments spread many fields takes little memory, and is answered', async () => {
    const aliased = (count: number, field: string): string =>
      Array.from({ length: count }, (_, at) => `a${at}: ${field}`).join(' ')
    const ask = async (salt: number): Promise<void> => {
      const response = await gateway.post(`{ ${aliased(10, 'vaults(first: 1) { ...C }')} } # ${salt}
        fragment C on VaultConnection { ${aliased(7, 'nodes { ...V }')} }
        fragment V on Vault { ${aliased(14, 'strategy { ...S }')} }
        fragment S on Strategy { ${aliased(15, 'name')} id name tagline description liveApr sigma }`)
      expect(response.status).toBe(200)
      await response.text()
    }
    await ask(0)
    const before = heapBytes()
    for (let salt = 1; salt <= 10; salt++) await ask(salt)
    expect(heapBytes() - before).toBeLessThan(30_000_000)
  })

  test('with many errors gets some of them', async () => {
    const fields = Array.from({ length: 900 }, (_, index) => `unknown${index}`)
    const response = await gateway.post(`{ strategies { ${fields.join(' ')} } }`)
    const { errors } = (await response.json()) as Refused
    // One more error says that others were omitted.
    expect(errors).toHaveLength(maxValidationErrors + 1)
  })
})

describe('a variable that is null where null is not allowed', () => {
  const condition = '$a: Boolean = true'
  test.each([
    ['introspection', `query (${condition}) { __schema { types { name @include(if: $a) } } }`],
    ['objects', `query (${condition}) { strategies { id @skip(if: $a) } }`],
    ['an inline fragment', `query (${condition}) { strategies { ... @include(if: $a) { id } } }`],
    [
      'a fragment',
      `query (${condition}) { ...f } fragment f on Query { strategies { ...g } } ${fragmentWithCondition}`,
    ],
    // The cost would not include its length and elements, and each object would read them.
    [
      'a list',
      `query ($a: VaultStatus = IDLE) { strategies { vaults(where: { status: [${'IDLE '.repeat(800)}$a] }) { totalCount } } }`,
    ],
    [
      'a list in a fragment',
      `query ($a: EventType = DEPOSIT) { vaults(first: 5) { nodes { ...g } } } fragment g on Vault { events(type: [$a]) { totalCount } }`,
    ],
    ['a length', 'query ($a: Int = 5) { vaults(first: 2) { nodes { events(first: $a) { totalCount } } } }'],
  ])('is refused before anything runs, and not at each object: %s', async (_, query) => {
    const { extensions } = await refusalOf(await sent(JSON.stringify({ query, variables: { a: null } })))
    expect(extensions).toEqual({ code: 'BAD_USER_INPUT', argument: 'a' })
    expect(gateway.reported).toEqual([])
  })

  test.each([
    ['not given', 'A', {}],
    ['of another operation', 'B', { a: null }],
  ])('does not matter where it is %s', async (_, operationName, variables) => {
    const query = `query A(${condition}) { strategies { ...g } }
      query B($a: String) { vaults(first: 1, after: $a) { totalCount } } ${fragmentWithCondition}`
    const response = await sent(JSON.stringify({ query, operationName, variables }))
    expect(response.status).toBe(200)
    expect(await response.json()).not.toHaveProperty('errors')
  })
})

test.each([
  'vault(address: "0x0000000000000000000000000000000000000001") @include(if: $a) { status }',
  '... @skip(if: $a) { ledger { type } }',
])('a subscription whose root field depends on a variable is refused with its reason: %s', async (selection) => {
  const query = `subscription ($a: Boolean!) { ${selection} }`
  const { message, extensions } = await refusalOf(await sent(JSON.stringify({ query, variables: { a: true } })))
  expect(message).toBe('The root field of a subscription must not have @skip or @include with a variable.')
  expect(extensions).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' })
})

test('a document with more field merges than the limit of graphql-js gets an error that says so', async () => {
  const query = `{ _meta { ${`feeds { ${'name '.repeat(8)} } `.repeat(90)} } }`
  const { message, extensions } = await refusalOf(await sent(JSON.stringify({ query })))
  expect(message).toContain('merge more often')
  expect(extensions).toEqual({ code: 'QUERY_OVER_BOUND' })
})

test('errors of a document with the maximum number of lines have their line', async () => {
  const lines = '\n'.repeat(defaultQueryLimits.lines - 2)
  const vault = vaultThatIs.earning
  const query = `${lines}query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Vault { events(first: 0) { nodes { ts } } } } }`
  const response = await sent(JSON.stringify({ query, variables: { ids: Array.from({ length: 200 }, () => vault) } }))
  const { errors } = (await response.json()) as { errors: { locations: { line: number }[] }[] }
  expect(errors.map(({ locations }) => locations[0]?.line)).toEqual(errors.map(() => defaultQueryLimits.lines - 1))
})

test('names of missing operations retain no memory', async () => {
  const query = '{ strategies { id } }'
  const ask = (index: number): Promise<Response> =>
    sent(JSON.stringify({ query, operationName: `${index}${'x'.repeat(50_000)}` }))
  // A document that was answered is cached.
  expect((await sent(JSON.stringify({ query }))).status).toBe(200)
  for (let index = 0; index < 50; index++) expect((await ask(index)).status).toBe(400)
  const before = heapBytes()
  for (let index = 50; index < 450; index++) await (await ask(index)).text()
  expect(heapBytes() - before).toBeLessThan(5_000_000)
})

test.each([
  ['cannot be planned', (salt: number) => `query One { strategies { id @include(if: true) } }${literals(salt)}`],
  ['have few fields and much text', (salt: number) => `query One { strategies { id } }${literals(salt)}`],
  [
    'spread a fragment in a list',
    (salt: number) =>
      `query One { vaults(first: 1) { ...C } } fragment C on VaultConnection { nodes { address } }${literals(salt)}`,
  ],
])(
  'documents that %s leave little behind',
  async (_, documentOf) => {
    const ask = async (salt: number): Promise<void> => {
      const response = await sent(JSON.stringify({ query: documentOf(salt), operationName: 'One' }))
      expect(response.status).toBe(200)
      await response.text()
    }
    // As many as the cache stores.
    for (let salt = 0; salt < 200; salt++) await ask(salt)
    const before = heapBytes()
    for (let salt = 200; salt < 600; salt++) await ask(salt)
    expect(heapBytes() - before).toBeLessThan(5_000_000)
  },
  300_000,
)

/** A fragment that is parsed and cached with its document: some 900 tokens. */
function literals(salt: number): string {
  const addresses = Array.from({ length: 190 }, (_, index) => `"${index} ${salt}"`)
  return ` query Other { vaults(where: { strategy: [${addresses.join(' ')}] }) { nodes { address } } }`
}

test("the message of a plugin's error, which may repeat client input, is truncated too", async () => {
  const extensions = { code: 'NOT_MINE', http: { status: 400 } }
  const plugin = {
    onParams: (): never => {
      throw new GraphQLError('x'.repeat(2 * maxMessageCharacters), { extensions })
    },
  }
  const gateway = gatewayOn(database, { plugins: [plugin] })
  const refused = await refusalOf(await gateway.post('{ strategies { id } }'))
  expect(refused.message).toBe(`${'x'.repeat(maxMessageCharacters)}…`)
  expect(refused.extensions).toMatchObject({ code: 'NOT_MINE' })
})
