import { Readable } from 'node:stream'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createLog, formatLogLine } from '../../../src/cli/log.ts'
import { type Gateway, serve } from '../../../src/cli/commands/serve.ts'
import { readConfig } from '../../../src/config.ts'
import type { Database } from '../../../src/database/database.ts'
import { emptyDatabase, readingBy } from '../../support/database.ts'
import { errorOf, failing, problemOf } from '../../support/problem.ts'
import { rawConnection } from '../../support/raw.ts'
import { apply, midnight, opened, strategy, vaultA } from '../../support/world.ts'

const key = 'a-key-of-one-reader'

let database: Database
const running: Gateway[] = []

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [strategy('calm'), opened(vaultA, 'calm')])
})

afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.close()
})

interface Line {
  readonly level: string
  readonly msg: string
  readonly requestId?: string
  readonly route?: string
  readonly err?: { readonly message: string; readonly stack: string }
  readonly [fact: string]: unknown
}

interface Logged {
  readonly port: number
  get(path: string, init?: RequestInit): Promise<Response>
  text(): string
  lines(): Line[]
  /** Resolves to the log line of a request, which is written after the last byte of the response. */
  lineOf(response: Response): Promise<Line>
}

/** Starts a gateway on a socket, and collects its log. */
async function logged(over: Database, environment: Record<string, string> = {}): Promise<Logged> {
  const config = readConfig({ PORT: '0', HOST: '127.0.0.1', DEMO: '0', STOP_SECONDS: '0', ...environment })
  let text = ''
  const output = { write: (line: string) => (text += line) }
  const log = createLog({ level: config.logLevel, secrets: config.apiKeys, output })
  const print = (): void => undefined
  const input = Readable.from([])
  const command = { feed: null, chain: null, skipBad: false, input, print, nowSeconds: () => midnight }
  const gateway = await serve({ ...command, config, database: over, log })
  running.push(gateway)
  const lines = (): Line[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
  return {
    port: gateway.port,
    get: (path, init) => fetch(`http://127.0.0.1:${gateway.port}${path}`, init),
    text: () => text,
    lines,
    lineOf: (response) =>
      vi.waitFor(() => {
        const id = response.headers.get('x-request-id')
        const line = lines().find(({ msg, requestId }) => msg === 'Answered' && requestId === id)
        if (line === undefined) throw new Error(`no line of ${String(id)} in ${text}`)
        return line
      }, 30_000),
  }
}

describe('a request is logged', () => {
  test.each([
    ['GET', '/strategies?token=a', '/strategies', 200],
    ['HEAD', `/vault/${vaultA}/snapshot`, '/vault/:address/snapshot', 200],
    ['GET', '/vault/nobody/events', '/vault/:address/events', 400],
    ['GET', '/graphql?query={strategies{id}}', '/graphql', 200],
    ['DELETE', '/universe', '/universe', 405],
    ['GET', '/strategies/all', 'none', 404],
    ['GET', `/strategies?${'x'.repeat(9_000)}`, '/strategies', 414],
  ])('with its method, route, status and duration: %s %s', async (method, path, route, status) => {
    const gateway = await logged(database)
    const response = await gateway.get(path, { method })
    const line = await gateway.lineOf(response)
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      msg: 'Answered',
      requestId: response.headers.get('x-request-id'),
      method,
      route,
      status,
      milliseconds: expect.any(Number) as number,
    })
    expect(line['milliseconds']).toBeGreaterThan(0)
  })

  test('without a status if the client left before the response', async () => {
    const read = vi.fn(() => new Promise<never>(() => undefined))
    const gateway = await logged(readingBy(database, read))
    const connection = await rawConnection(gateway.port)
    connection.send('GET /strategies HTTP/1.1\r\nHost: x\r\nX-Request-Id: gone\r\n\r\n')
    await expect.poll(() => read).toHaveBeenCalled()
    connection.socket.destroy()
    await expect
      .poll(() => gateway.lines().find(({ requestId }) => requestId === 'gone'))
      .toMatchObject({ status: null })
  })

  test.each([
    ['info', ['Listening', 'Answered /strategies']],
    ['debug', ['Listening', 'Answered /health', 'Answered /ready', 'Answered /metrics', 'Answered /strategies']],
    ['warn', []],
  ])('as LOG_LEVEL=%s has it, and probes at debug', async (level, said) => {
    const gateway = await logged(database, { LOG_LEVEL: level })
    for (const path of ['/health', '/ready', '/metrics', '/strategies']) await (await gateway.get(path)).text()
    const heard = () => gateway.lines().map(({ msg, route }) => (route === undefined ? msg : `${msg} ${route}`))
    await expect.poll(() => heard()).toEqual(said)
  })
})

describe('the id of a request', () => {
  test.each(['a', '0f8c2b1e-8d1c-4b7e-9a51-4a8fe5b5f1a0', 'trace_1.span-2', 'x'.repeat(64)])(
    'is the one it came with: %s',
    async (id) => {
      const gateway = await logged(database)
      const response = await gateway.get('/strategies', { headers: { 'x-request-id': id } })
      expect(response.headers.get('x-request-id')).toBe(id)
      expect(await gateway.lineOf(response)).toMatchObject({ requestId: id })
    },
  )

  test.each(['', 'x'.repeat(65), 'two words', 'a"b', '{"level":"fatal"}', 'ä', 'a,b'])(
    'is a new one where that is not fit for a log: %j',
    async (id) => {
      const gateway = await logged(database)
      const ask = async () => (await gateway.get('/strategies', { headers: { 'x-request-id': id } })).headers
      const [first, second] = [(await ask()).get('x-request-id'), (await ask()).get('x-request-id')]
      expect(first).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
      expect(second).not.toBe(first)
    },
  )

  test('is in every response, and readable by pages of other origins', async () => {
    const gateway = await logged(database, { API_KEYS: 'a-key-of-another-reader' })
    for (const path of ['/strategies', '/graphql?query={strategies{id}}', '/health', '/ready', '/nowhere']) {
      const { headers } = await gateway.get(path, { headers: { 'x-request-id': 'mine' } })
      expect(headers.get('x-request-id'), path).toBe('mine')
      expect(headers.get('access-control-expose-headers')?.split(', ')).toContain('x-request-id')
    }
  })
})

describe('an unexpected error', () => {
  test('is logged once with the id that a masked problem names', async () => {
    const gateway = await logged(failing(database))
    const response = await gateway.get('/strategies', { headers: { 'x-request-id': 'of-the-problem' } })
    const { detail } = await problemOf(response, 500)
    expect(detail).toBe('Something went wrong here. It is logged with the request id of-the-problem.')
    expect(errorsOf(gateway)).toEqual([['of-the-problem', expect.stringContaining('hunter2')]])
  })

  test('is logged once for each request, with the id in the masked GraphQL error', async () => {
    const gateway = await logged(failing(database))
    for (const id of ['first', 'second']) {
      const query = `/graphql?query={a:strategies{id} b:universe{screenedAt}}`
      const response = await gateway.get(query, { headers: { 'x-request-id': id } })
      const { message } = await errorOf(response)
      expect(message).toBe(`Something went wrong here. It is logged with the request id ${id}.`)
    }
    expect(errorsOf(gateway).map(([id]) => id)).toEqual(['first', 'second'])
  })

  function errorsOf(gateway: Logged): [id: unknown, message: unknown][] {
    return gateway
      .lines()
      .filter(({ level }) => level === 'error')
      .map(({ requestId, err }) => [requestId, err?.message])
  }
})

test('no API key is logged, wherever a request contains it', async () => {
  const broken = readingBy(database, () => Promise.reject(new Error(`it failed for ${key}`, { cause: { key } })))
  const gateway = await logged(broken, { API_KEYS: `${key},key-fit-for-an-id`, LOG_LEVEL: 'trace' })
  const unknown = 'a-key-of-nobody-at-all'
  for (const sentKey of [key, 'key-fit-for-an-id', unknown]) {
    const headers = { authorization: `Bearer ${sentKey}` }
    const responses = [
      await gateway.get('/strategies', { headers }),
      await gateway.get(`/strategies?key=${sentKey}`, { headers }),
      await gateway.get(`/${sentKey}`, { headers }),
      await gateway.get('/graphql?query={strategies{id}}', { headers }),
    ]
    for (const response of responses) await gateway.lineOf(response)
  }
  const asId = { authorization: `Bearer ${key}`, 'x-request-id': 'key-fit-for-an-id' }
  await gateway.get('/strategies', { headers: asId })
  await expect.poll(() => gateway.lines().some(({ requestId }) => requestId === '[hidden]')).toBe(true)
  const text = gateway.text()
  expect(text).toContain('it failed for [hidden]')
  for (const secret of [key, JSON.stringify(key).slice(1, -1), 'key-fit-for-an-id', unknown, 'Bearer'])
    expect(text).not.toContain(secret)
})

describe('on a terminal', () => {
  test('log lines are human-readable', () => {
    const time = '2026-01-02T12:30:01.250Z'
    const facts = { method: 'GET', route: '/strategies', status: 200 }
    expect(formatLogLine(JSON.stringify({ level: 'info', time, ...facts, msg: 'Answered' }))).toBe(
      '12:30:01 INFO Answered method=GET route=/strategies status=200\n',
    )
    const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at here' }
    expect(formatLogLine(JSON.stringify({ level: 'error', time, err, requestId: 'a', msg: 'An answer failed' }))).toBe(
      '12:30:01 ERROR An answer failed requestId=a\nError: broken\n    at here\n',
    )
  })

  test('only: elsewhere they are JSON', () => {
    const logged = (isTTY: boolean): string => {
      let text = ''
      createLog({ level: 'info', secrets: [], output: { isTTY, write: (line) => (text += line) } }).warn('Careful')
      return text
    }
    expect(logged(true)).toMatch(/^\d\d:\d\d:\d\d WARN Careful\n$/)
    expect(JSON.parse(logged(false))).toMatchObject({ level: 'warn', msg: 'Careful' })
  })
})

test('a secret is also redacted in its JSON-escaped form', () => {
  let text = ''
  const log = createLog({ level: 'info', secrets: ['a "quoted" secret'], output: { write: (line) => (text += line) } })
  log.warn('It was a "quoted" secret', { err: new Error('of a "quoted" secret') })
  expect(text).toContain('It was [hidden]')
  expect(text).not.toContain('quoted')
})
