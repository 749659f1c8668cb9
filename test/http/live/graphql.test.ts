import { hash } from 'node:crypto'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { asEvent, type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, strategy } from '../../support/world.ts'

const vault = addressOf(1)
const selection = '{ valueUsd status strategy { name } positions { positionId } events(first: 2) { nodes { type } } }'
const mediaType = 'application/graphql-response+json'

let database: TestDatabase
let gateway: LiveGateway
let now = midnight
const clients: LiveClient[] = []

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('calm'), opened(vault, 'calm', ++now), deposit(vault, ++now, '100')])
})

beforeEach(async () => {
  gateway = await liveGateway(database)
})

afterEach(async () => {
  for (const client of clients.splice(0)) client.close()
  await gateway.close()
})

async function subscribe(query: string, variables?: Record<string, unknown>, how: 'GET' | 'POST' = 'POST') {
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json' }
  const search = new URLSearchParams({ query, ...(variables && { variables: JSON.stringify(variables) }) }).toString()
  const client = await (how === 'GET'
    ? openStream(gateway.server.origin, `/graphql?${search}`, { headers: { accept: 'text/event-stream' } })
    : openStream(gateway.server.origin, '/graphql', {
        headers,
        method: 'POST',
        body: JSON.stringify({ query, variables }),
      }))
  clients.push(client)
  return client
}

describe.each(['GET', 'POST'] as const)('a subscription that is persisted, by %s', (method) => {
  const ofVault = (field: string) => `subscription { vault(address: "${vault}") { ${field} } }`
  const persistedQuery = (text: string) => ({ persistedQuery: { version: 1, sha256Hash: hash('sha256', text) } })

  async function send(params: { readonly query?: string; readonly extensions: object }): Promise<LiveClient> {
    const texts = Object.entries(params).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ])
    const headers = { accept: `text/event-stream, ${mediaType};q=0.5`, 'content-type': 'application/json' }
    const client = await openStream(
      gateway.server.origin,
      method === 'GET' ? `/graphql?${new URLSearchParams(texts).toString()}` : '/graphql',
      { headers, method, ...(method === 'POST' && { body: JSON.stringify(params) }) },
    )
    clients.push(client)
    return client
  }

  test('is streamed by its hash alone after a client has sent its text with the hash', async () => {
    const query = ofVault('valueUsd')
    const extensions = persistedQuery(query)
    const unknown = await send({ extensions })
    await unknown.ended
    expect([unknown.status, unknown.text()]).toEqual([404, expect.stringContaining('"PersistedQueryNotFound"')])
    const [told] = await (await send({ query, extensions })).until('next', 1)
    const client = await send({ extensions })
    expect((await client.until('next', 1))[0]?.data).toBe(told?.data)
    await apply(database, [mark(vault, ++now, String(now))])
    expect((await client.until('next', 2))[1]?.data).toContain(`"valueUsd":${now}`)
  })

  test('is refused with the hash of another text, and not stored if it is invalid', async () => {
    const other = await send({ query: ofVault('status'), extensions: persistedQuery(ofVault('netUsd')) })
    await other.ended
    expect(other.status).toBe(400)
    const query = ofVault('nothing')
    for (const params of [{ query, extensions: persistedQuery(query) }, { extensions: persistedQuery(query) }]) {
      const client = await send(params)
      await client.ended
      expect(client.status).toBe('query' in params ? 400 : 404)
    }
  })
})

describe('a subscription to a vault', () => {
  test.each(['GET', 'POST'] as const)(
    'by %s brings what the query would answer, at once and on each change',
    async (how) => {
      const client = await subscribe(
        `subscription ($vault: Address!) { vault(address: $vault) ${selection} }`,
        { vault },
        how,
      )
      const query = async () =>
        asEvent(await (await gateway.post(`{ vault(address: "${vault}") ${selection} }`)).text())
      const [first] = await client.until('next', 1)
      expect(first?.data).toBe(await query())
      await apply(database, [mark(vault, ++now, String(now))])
      const [, second] = await client.until('next', 2)
      expect(second?.data).toBe(await query())
    },
  )

  test('is null while the vault is not known', async () => {
    const unknown = addressOf(7 + now)
    const client = await subscribe(`subscription { vault(address: "${unknown}") { status } }`)
    const [first] = await client.until('next', 1)
    expect(JSON.parse(first?.data ?? '')).toMatchObject({ data: { vault: null } })
    await apply(database, [opened(unknown, 'calm', ++now)])
    const [, second] = await client.until('next', 2)
    expect(JSON.parse(second?.data ?? '')).toMatchObject({ data: { vault: { status: 'IDLE' } } })
  })
})

test('a subscription to meta sends the version after each commit', async () => {
  const client = await subscribe('subscription { meta { version newestFactAt } }')
  await client.until('next', 1)
  await apply(database, [mark(vault, ++now, '5')])
  const [, second] = await client.until('next', 2)
  const { data } = JSON.parse(second?.data ?? '') as { data: { meta: unknown } }
  expect(data.meta).toEqual({ version: second?.id, newestFactAt: now })
})

describe('a subscription to ledgers', () => {
  const document = `subscription ($after: String, $types: [EventType!]) { ledger(vaults: ["${vault}"], types: $types, after: $after) {
    cursor vault { address valueUsd } event { type ts txHash } } }`
  const plant = () => event(vault, ++now, { type: 'plant', positionId: 'p' })

  test('sends each row with its cursor, after which another subscription resumes', async () => {
    const client = await subscribe(document)
    await apply(database, [plant(), plant()])
    const events = await client.until('next', 2)
    const rows = events.map(
      ({ data }) => JSON.parse(data ?? '') as { data: { ledger: { cursor: string; vault: unknown } } },
    )
    expect(rows.map(({ data }) => data.ledger.cursor)).toEqual(events.map(({ id }) => id))
    expect(rows[0]?.data.ledger).toMatchObject({ vault: { address: vault }, event: { type: 'PLANT', ts: now - 1 } })
    const again = await subscribe(document, { after: rows[0]?.data.ledger.cursor })
    expect((await again.until('next', 1))[0]).toEqual(events[1])
  })

  test('ends with an error if its cursor is not part of the history', async () => {
    const client = await subscribe(document, { after: '1.42.1' })
    await client.ended
    expect(client.events.flatMap(({ event }) => event ?? [])).toEqual(['next', 'complete'])
    expect(client.events.find(({ event }) => event === 'next')?.data).toContain('"HISTORY_CHANGED"')
  })
})

describe('a request is refused before its stream begins', () => {
  test.each([
    ['a document that is not valid', 'subscription { nothing }', 400, 'GRAPHQL_VALIDATION_FAILED'],
    [
      'a wrong variable',
      'subscription ($vault: Address!) { vault(address: $vault) { status } }',
      400,
      'BAD_USER_INPUT',
    ],
    ['a malformed cursor', 'subscription { ledger(after: "x") { cursor } }', 400, 'BAD_USER_INPUT'],
    [
      'too many vaults',
      `subscription { ledger(vaults: ${JSON.stringify(Array.from({ length: 101 }, (_, index) => addressOf(index)))}) { cursor } }`,
      400,
      'BAD_USER_INPUT',
    ],
    [
      'too high a cost',
      `subscription { vault(address: "${vault}") { equity(points: 2000) { ts netUsd valueUsd } } }`,
      400,
      'QUERY_OVER_BOUND',
    ],
    [
      'too long a text',
      `subscription { vault(address: "${vault}") { status } } # ${'x'.repeat(9_000)}`,
      413,
      'BODY_TOO_LARGE',
    ],
  ])('with %s', async (_, query, status, code) => {
    const client = await subscribe(query)
    await client.ended
    expect([client.status, client.headers['content-type']]).toEqual([status, `${mediaType}; charset=utf-8`])
    expect(client.text()).toContain(`"code":"${code}"`)
  })

  test.each(['{"after"', '["1.1"]', '"1.1"', '7'])('with variables that are no object: %s', async (variables) => {
    const query = 'subscription ($after: String) { ledger(after: $after) { cursor } }'
    const search = new URLSearchParams({ query, variables }).toString()
    const requests = [
      openStream(gateway.server.origin, `/graphql?${search}`, { headers: { accept: 'text/event-stream' } }),
      openStream(gateway.server.origin, '/graphql', {
        headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
        method: 'POST',
        body: `{"query":${JSON.stringify(query)},"variables":${variables}}`,
      }),
    ]
    for (const client of await Promise.all(requests)) {
      clients.push(client)
      expect(client.status).toBe(400)
    }
  })

  test.each([{ foo: 1 }, { extensions: [] }, { extensions: 'x' }, { operationName: 1 }])(
    'with parameters that no request may have: %j',
    async (parameters) => {
      const client = await openStream(gateway.server.origin, '/graphql', {
        headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
        method: 'POST',
        body: JSON.stringify({ query: `subscription { vault(address: "${vault}") { status } }`, ...parameters }),
      })
      clients.push(client)
      expect(client.status).toBe(400)
    },
  )

  test('that is a subscription without the media type of streams', async () => {
    const response = await gateway.post(`subscription { vault(address: "${vault}") { status } }`)
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('Accept: text/event-stream'),
    ])
  })
})

test('an empty parameter of a GET is ignored, as for other operations', async () => {
  const query = `subscription { vault(address: "${vault}") { status } }`
  const sha256Hash = hash('sha256', query)
  const extensions = JSON.stringify({ persistedQuery: { version: 1, sha256Hash } })
  for (const parameters of [
    { query, extensions, operationName: '', variables: '' },
    { query: '', extensions, operationName: '' },
  ]) {
    const search = new URLSearchParams(parameters).toString()
    const headers = { accept: 'text/event-stream' }
    const client = await openStream(gateway.server.origin, `/graphql?${search}`, { headers })
    clients.push(client)
    expect([client.status, client.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
  }
})

test('a query that accepts only events is answered by one event and the end of the stream', async () => {
  const client = await subscribe('{ strategies { id } }')
  await client.ended
  expect(client.headers['content-type']).toBe('text/event-stream; charset=utf-8')
  expect(client.events.flatMap(({ event }) => event ?? [])).toEqual(['next', 'complete'])
  const response = await gateway.post('{ strategies { id } }')
  expect(client.events[0]?.data).toBe(await response.text())
  expect(client.headers['data-version']).toBe(response.headers.get('data-version'))
})
