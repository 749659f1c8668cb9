import { afterEach, expect, test, vi } from 'vitest'
import {
  createGatewayClient,
  type GatewayClient,
  queryProblem,
  type QueryResult,
} from '../../src/web/data/gateway-client.ts'
import { readWholeList } from '../../src/web/data/lists/whole-lists.ts'
import {
  VaultChangesDocument,
  VaultFeesDocument,
  type VaultFeesQuery,
  VaultLedgerDocument,
} from '../../src/web/documents.generated.ts'
import { addressOf } from '../support/world.ts'

const variables = { address: addressOf(1) }

afterEach(() => vi.unstubAllGlobals())

/** Replaces `fetch` for the client's requests only: another test file of this process may still send requests. */
function answerGraphql(respond: (init: RequestInit) => Response | Promise<Response>): void {
  const original = fetch
  vi.stubGlobal('fetch', (url: string, init: RequestInit) =>
    url === 'graphql' ? Promise.resolve(respond(init)) : original(url, init),
  )
}

/** Answers each request with a different amount, counting from 1. */
function answering(): { readonly client: GatewayClient; readonly requests: RequestInit[] } {
  const requests: RequestInit[] = []
  answerGraphql((init) => {
    requests.push(init)
    const body = `{"data":{"vault":{"id":"1","fees":{"taxedUsd":${requests.length}.10}}}}`
    return new Response(body, { headers: { 'content-type': 'application/json' } })
  })
  return { client: createGatewayClient('a-key-of-this-test'), requests }
}

test('a query has one result, of its own request, with amounts as the text that was sent', async () => {
  const { client, requests } = answering()
  const results: (readonly [run: number, taxedUsd: string | undefined])[] = []
  for (let run = 1; run <= 3; run++) {
    await new Promise<void>((resolve) => {
      client.query(VaultFeesDocument, variables, ({ data }: { data: VaultFeesQuery | undefined }) => {
        results.push([run, data?.vault?.fees.taxedUsd])
        resolve()
      })
    })
  }
  expect(results).toEqual([
    [1, '1.10'],
    [2, '2.10'],
    [3, '3.10'],
  ])
  expect(requests).toHaveLength(3)
  expect(new Headers(requests[0]?.headers).get('authorization')).toBe('Bearer a-key-of-this-test')
})

test('a cancelled query has no result', async () => {
  const { client } = answering()
  const onResult = vi.fn()
  client.query(VaultFeesDocument, variables, onResult)()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(onResult).not.toHaveBeenCalled()
})

/** Responds with one body after the other; those with errors have status 503. */
function sending(...bodies: readonly object[]): GatewayClient {
  const waiting = [...bodies]
  answerGraphql(() => {
    const body = waiting.shift() ?? {}
    const headers = { 'content-type': 'application/json', 'retry-after': '0' }
    return Response.json(body, { status: 'errors' in body ? 503 : 200, headers })
  })
  return createGatewayClient(null)
}

const errors = [{ message: 'The database does not answer now.', path: ['vault'] }]

test.each([{ vault: null }, null])(
  'a query that failed has its error alone, where the gateway sends data %j',
  async (data) => {
    const client = sending({ errors, data })
    const result = await new Promise<{ data: unknown; error: { message: string } | undefined }>((resolve) => {
      client.query(VaultFeesDocument, variables, resolve)
    })
    expect(result.data).toBeUndefined()
    expect(result.error?.message).toContain('The database does not answer now.')
  },
)

test('a complete list has the page that was refused at first', async () => {
  const pageOf = (id: string, hasNextPage: boolean) => ({
    data: { vault: { id: '1', chainId: 1, events: { nodes: [{ id }], pageInfo: { hasNextPage, endCursor: id } } } },
  })
  const client = sending(pageOf('a', true), { errors, data: { vault: null } }, pageOf('b', false))
  const rows = await readWholeList(
    client,
    VaultLedgerDocument,
    { ...variables, type: null, first: 1 },
    ({ vault }) => vault?.events ?? null,
  )
  expect(rows.map(({ id }) => id)).toEqual(['a', 'b'])
})

test('a query and a poll fail at their timeout, like those that do not reach the gateway', async () => {
  const ofStreams: (AbortSignal | null | undefined)[] = []
  answerGraphql(({ body, signal }) => {
    if ((body as string).includes('subscription ')) ofStreams.push(signal)
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as DOMException)))
  })
  const client = createGatewayClient(null, 20)
  const stop = client.subscribe(VaultChangesDocument, variables, () => undefined)
  const [query, poll] = await Promise.all([
    new Promise<QueryResult<unknown>>((resolve) => client.query(VaultFeesDocument, variables, resolve)),
    new Promise<QueryResult<unknown>>((resolve) => client.poll(resolve)),
  ])
  for (const { error } of [query, poll]) {
    expect(error?.networkError?.name).toBe('TimeoutError')
    expect(error === undefined ? '' : queryProblem(error)).toBe('The gateway does not answer.')
  }
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(ofStreams.map((signal) => signal?.aborted)).toEqual([false])
  stop()
})

test('a cancelled query aborts its request', async () => {
  let signal: AbortSignal | null | undefined
  answerGraphql((init) => {
    signal = init.signal
    return new Promise(() => undefined)
  })
  const end = createGatewayClient(null).query(VaultFeesDocument, variables, () => undefined)
  await expect.poll(() => signal?.aborted).toBe(false)
  end()
  expect(signal?.aborted).toBe(true)
})

/** Returns a stream of events in parts, which stays open. */
function eventResponse(parts: readonly string[]): Response {
  const body = new ReadableStream({
    start: (controller) => parts.forEach((part) => controller.enqueue(new TextEncoder().encode(part))),
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** Simulates a gateway with separate processes for polls, streams and other queries. */
function processes(answers: {
  readonly poll?: () => string
  readonly event?: string
  readonly query: (minDataVersion: string | null) => readonly [status: number, version: string | null]
}): { readonly client: GatewayClient; readonly demanded: (string | null)[] } {
  const demanded: (string | null)[] = []
  const versionOf = (version: string | null): Record<string, string> =>
    version === null ? {} : { 'data-version': version }
  answerGraphql((init) => {
    const { query } = JSON.parse(init.body as string) as { query: string }
    const minDataVersion = new Headers(init.headers).get('min-data-version')
    if (query.includes('subscription '))
      return eventResponse(['event: next\ni', `d: ${answers.event}\n`, 'data: {"data":{"vault":null}}\n\n'])
    if (query.includes('_meta')) {
      const version = answers.poll?.() ?? null
      expect(minDataVersion).toBeNull()
      return Response.json({ data: { _meta: { version } } }, { headers: versionOf(version) })
    }
    demanded.push(minDataVersion)
    const [status, version] = answers.query(minDataVersion)
    const body = status === 200 ? { data: { vault: null } } : { errors }
    return Response.json(body, { status, headers: versionOf(version) })
  })
  return { client: createGatewayClient(null), demanded }
}

const firstResult = (client: GatewayClient): Promise<{ data: unknown }> =>
  new Promise((resolve) => client.query(VaultFeesDocument, variables, resolve))
const polled = (client: GatewayClient): Promise<boolean> =>
  new Promise((resolve) => client.poll((_, isOutdated) => resolve(isOutdated)))

test('a query after an event demands at least its version of the process that answers', async () => {
  const { client, demanded } = processes({ event: '7.12', query: () => [200, '7.12'] })
  await firstResult(client)
  let close = (): void => undefined
  await new Promise<void>((resolve) => (close = client.subscribe(VaultChangesDocument, variables, resolve)))
  await firstResult(client)
  close()
  expect(demanded).toEqual([null, '7.12'])
})

test('a poll reports, also during a stream, that a response is older than the data, until it is read again', async () => {
  const process = { version: '6.2' }
  const { client } = processes({ poll: () => '7.12', event: '6.2', query: () => [200, process.version] })
  let close = (): void => undefined
  await new Promise<void>((resolve) => (close = client.subscribe(VaultChangesDocument, variables, resolve)))
  await firstResult(client)
  expect(await polled(client)).toBe(true)
  client.refreshed()
  process.version = '7.12'
  await firstResult(client)
  expect(await polled(client)).toBe(false)
  close()
})

test('a newer version alone is reported once in 30 s while a stream reports changes, and by each poll without one', async () => {
  const process = { version: 7 }
  const { client } = processes({ poll: () => `${process.version}.1`, event: '7.1', query: () => [200, '7.1'] })
  let close = (): void => undefined
  await new Promise<void>((resolve) => (close = client.subscribe(VaultChangesDocument, variables, resolve)))
  await firstResult(client)
  process.version = 8
  expect(await polled(client)).toBe(true)
  client.refreshed()
  await firstResult(client)
  expect(await polled(client)).toBe(false)
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 30_000)
  expect(await polled(client)).toBe(true)
  vi.restoreAllMocks()
  expect(await polled(client)).toBe(false)
  close()
  expect(await polled(client)).toBe(true)
})

test('a query whose version is of a lost history is sent again without one, and all data is read again', async () => {
  const process = { version: '9.2' }
  const { client, demanded } = processes({
    poll: () => '3.4',
    query: (least) => (least === '9.2' && process.version !== least ? [409, null] : [200, process.version]),
  })
  await firstResult(client)
  process.version = '3.4'
  expect(await firstResult(client)).toMatchObject({ data: { vault: null }, error: undefined })
  expect(demanded).toEqual([null, '9.2', null])
  expect(await polled(client)).toBe(true)
})
