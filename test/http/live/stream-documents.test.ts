import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse } from 'graphql'
import { OperationCache, PreparedDocument } from '../../../src/graphql/execution/operation-cache.ts'
import type { AppOptions } from '../../../src/http/app.ts'
import { StreamDocuments } from '../../../src/http/live/operations/stream-documents.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { defaultQueryLimits, operationCacheLimits } from '../../../src/limits.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { heapBytes } from '../../support/heap.ts'
import { type LiveClient, liveGateway, type LiveGateway, openStream } from '../../support/live.ts'
import { addressOf, apply, deposit, midnight, opened, strategy } from '../../support/world.ts'

const vault = addressOf(1)

describe('documents of streams', () => {
  const documentOf = (text: string): PreparedDocument => new PreparedDocument(text, parse(text), [])
  const [document, other] = [
    documentOf('subscription { ledger { cursor } }'),
    documentOf('subscription { ledger { id } }'),
  ]

  test('are stored once for each text, until its last stream has closed', () => {
    const documents = new StreamDocuments(2 * document.bytes)
    const first = documents.keep('one', document)
    const second = documents.keep('two', documentOf(document.text))
    expect(documents.get(document.text)).toBe(document)
    first?.()
    expect(documents.get(document.text)).toBe(document)
    second?.()
    expect(documents.get(document.text)).toBeUndefined()
  })

  test('of one sender have a share of the memory, which they free when they are released', () => {
    const documents = new StreamDocuments(2 * document.bytes)
    const release = documents.keep('one', document)
    expect(documents.keep('one', other)).toBeNull()
    release?.()
    expect(documents.keep('one', other)).not.toBeNull()
  })

  test('are counted with their compiled operations, for streams and other requests', () => {
    const text = '{ vaults { nodes { address owner status valueUsd netUsd capitalInUsd capitalOutUsd updatedAt } } }'
    const [compiled, prepared] = [1, 2].map(() =>
      new OperationCache(schema, defaultQueryLimits).prepare(text, 'sender'),
    )
    compiled?.operations[0]?.compiledFor({})
    const documents = new StreamDocuments(2 * (compiled?.bytes ?? 0))
    const release = prepared && documents.keep('one', prepared)
    const small = documents.keep('one', document)
    expect(small).not.toBeNull()
    small?.()
    prepared?.operations[0]?.compiledFor({})
    expect(documents.get(text)).toBe(prepared)
    expect(documents.keep('one', document)).toBeNull()
    release?.()
    expect(documents.keep('one', document)).not.toBeNull()
  })

  test('that outgrow the share of their sender are no longer stored, without effect on those of others', () => {
    const documents = new StreamDocuments(100 * document.bytes)
    let bytes = document.bytes
    const growing = Object.create(document, { bytes: { get: () => bytes } }) as PreparedDocument
    const releases = [documents.keep('one', growing), documents.keep('two', growing)]
    bytes *= 51
    growing.onGrown?.()
    expect(documents.get(document.text)).toBeUndefined()
    const again = documents.keep('two', document)
    for (const release of releases) release?.()
    expect(documents.get(document.text)).toBe(document)
    again?.()
    expect(documents.get(document.text)).toBeUndefined()
  })

  test('that are no longer stored take no memory, though their streams are open', () => {
    const documents = new StreamDocuments(1e12)
    const before = heapBytes()
    const releases = Array.from({ length: 30 }, (_, at) => {
      const large = documentOf(`subscription S${at} { ledger { ${'cursor '.repeat(900)} } }`)
      const release = documents.keep('one', large)
      Object.defineProperty(large, 'bytes', { value: Infinity })
      large.onGrown?.()
      return release
    })
    expect(heapBytes() - before).toBeLessThan(2_000_000)
    expect(releases).not.toContain(null)
  })
})

describe('a subscription', () => {
  let database: TestDatabase
  let gateway: LiveGateway
  let now = midnight
  const clients: LiveClient[] = []

  beforeAll(async () => {
    database = await emptyDatabase()
    await apply(database, [strategy('calm'), opened(vault, 'calm', ++now), deposit(vault, ++now, '100')])
  })

  afterEach(async () => {
    for (const client of clients.splice(0)) client.close()
    vi.restoreAllMocks()
    await gateway.close()
  })

  async function begin(liveLimits: AppOptions['liveLimits'] = {}): Promise<void> {
    gateway = await liveGateway(database, { liveLimits })
  }

  async function subscribe(query: string): Promise<LiveClient> {
    const target = `/graphql?${new URLSearchParams({ query }).toString()}`
    const client = await openStream(gateway.server.origin, target, { headers: { accept: 'text/event-stream' } })
    clients.push(client)
    return client
  }

  /** Runs enough long queries to evict all other documents from both segments of the operation cache. */
  async function evictDocuments(): Promise<void> {
    const fields =
      'id address status owner valueUsd netUsd capitalInUsd capitalOutUsd strategyDeltaUsd marketDeltaUsd '.repeat(90)
    const tokens = 900
    const queries = Math.ceil((1.5 * operationCacheLimits.bytes) / (tokens * operationCacheLimits.tokenBytes))
    for (let at = 0; at < 2 * queries; at++) {
      const query = `query Q${at} { vault(address: "${vault}") { ${fields} } }`
      for (const time of at < queries ? [1, 2] : [1]) {
        const response = await fetch(`${gateway.server.origin}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ query, variables: { time } }),
        })
        expect(response.status).toBe(200)
        await response.arrayBuffer()
      }
    }
  }

  test.each([
    ['a vault', `subscription { vault(address: "${vault}") { valueUsd } }`, 1],
    ['ledgers', 'subscription { ledger { cursor event { type } } }', 0],
  ])(
    'to %s is prepared once, however many other documents are prepared before its events',
    async (_, query, before) => {
      await begin()
      const prepare = vi.spyOn(OperationCache.prototype, 'prepare')
      const stream = await subscribe(query)
      await stream.until('next', before)
      await evictDocuments()
      await apply(database, [deposit(vault, ++now, '100', String(now))])
      await stream.until('next', before + 1)
      expect(prepare.mock.calls.filter(([text]) => text === query)).toHaveLength(1)
    },
  )

  test('is refused while the documents of others take its share of the memory', async () => {
    await begin({ documentBytes: 20_000 })
    const [first, second] = ['valueUsd', 'status'].map(
      (field) => `subscription { vault(address: "${vault}") { ${field} } }`,
    )
    const stream = await subscribe(first ?? '')
    const statuses = [await subscribe(second ?? ''), await subscribe(first ?? '')].map(({ status }) => status)
    expect([stream.status, ...statuses]).toEqual([200, 503, 200])
    for (const client of clients.splice(0)) client.close()
    await expect.poll(async () => (await subscribe(second ?? '')).status).toBe(200)
  })
})
