import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { DatabaseUnavailable } from '../../../src/database/errors.ts'
import { versionLimits } from '../../../src/limits.ts'
import { readVersionAt } from '../../../src/database/read/commit-log.ts'
import { Turns } from '../../../src/http/async/turns.ts'
import { type ResponseCache, createResponseCache } from '../../../src/http/cache/response-cache.ts'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createAwaitVersion } from '../../../src/http/middleware/min-data-version.ts'
import { emptyDatabase, type TestDatabase, readingBy } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { withNotifiedVersions } from '../../support/notified-versions.ts'
import { errorOf, problemOf } from '../../support/problem.ts'
import { rawConnection } from '../../support/raw.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { timePasses } from '../../support/time-passes.ts'
import { apply } from '../../support/world.ts'

/* The tests send the commit notifications themselves: the content of the database never changes. */

const snapshot = `/vault/${vaultThatIs.earning}/snapshot`
const graphql = `/graphql?query=${encodeURIComponent('{ strategies { id } }')}`
const bodies = { query: '{ universe { screenedAt } }' }

let database: TestDatabase
let cache: ResponseCache
let versions: DataVersions
/** The database, with the versions that were notified. */
let notified: TestDatabase
let gateway: TestGateway
let isSlow: Promise<void> | null = null
const servers: TestServer[] = []
const report = (): void => undefined

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, everything)
})
afterEach(async () => {
  isSlow = null
  for (const server of servers.splice(0)) await server.close()
})

/** Creates a gateway that was notified of these versions, the newest last; its reads wait while `isSlow` is pending. */
function gatewayAt(...heard: string[]): void {
  cache = createResponseCache(1024 * 1024)
  versions = new DataVersions()
  const slow = readingBy(database, async (statement, values, signal, reader) => {
    await isSlow
    return reader.read(statement, values, signal)
  })
  notified = withNotifiedVersions(slow, () => versions)
  gateway = gatewayOn(notified, { cache, versions, versionAt: (seq) => readVersionAt(database, seq) })
  listening(true)
  for (const version of heard) commit(version)
  versions.upToDate(performance.now())
}

function listening(isListening: boolean): void {
  cache.listening(isListening)
  versions.listening(isListening)
}

function commit(version: string, tags: readonly string[] = [], newestTs = Number(version.split('.')[0]) * 100): void {
  cache.committed({ tags })
  versions.committed({ version, newestTs })
}

/** Returns version and time, and whether there is an age: its value depends on the load of the machine. */
function versionHeaders({ headers }: Response): (string | boolean | null)[] {
  return [headers.get('data-version'), headers.get('data-time'), headers.has('data-age')]
}

function age({ headers }: Response): number {
  expect(headers.get('data-age')).toMatch(/^\d+$/)
  return Number(headers.get('data-age'))
}

const post = (body: object, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.get('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

describe('the headers of a response have', () => {
  test('the notified version, over REST and GraphQL, cached or not, with and without a body', async () => {
    gatewayAt('1.5', '2.6')
    for (const ask of [
      () => gateway.get(snapshot),
      () => gateway.get(snapshot, { method: 'HEAD' }),
      () => gateway.get(snapshot, { headers: { 'accept-encoding': 'gzip' } }),
      () => gateway.get(graphql, { headers: { accept: 'application/json' } }),
      () => post(bodies),
    ]) {
      const answers = [await ask(), await ask()]
      expect(answers.map(versionHeaders)).toEqual([
        ['2.6', '200', true],
        ['2.6', '200', true],
      ])
    }
  })

  test('the newest version also for a cached response and for 304', async () => {
    gatewayAt('1.5')
    const first = await gateway.get(snapshot)
    const etag = first.headers.get('etag') ?? ''
    commit('2.6', ['universe'])
    const before = cache.figures().hits
    const second = await gateway.get(snapshot)
    const third = await gateway.get(snapshot, { headers: { 'if-none-match': etag } })
    expect(cache.figures().hits - before).toBe(2)
    expect([first, second, third].map(({ status }) => status)).toEqual([200, 200, 304])
    expect([first, second, third].map(versionHeaders)).toEqual([
      ['1.5', '100', true],
      ['2.6', '200', true],
      ['2.6', '200', true],
    ])
    expect(second.headers.get('etag')).toBe(etag)
  })

  test('the version that was notified before the first read, even if a newer one follows during the request', async () => {
    gatewayAt('1.5')
    let read: () => void = () => undefined
    isSlow = new Promise((resolve) => (read = resolve))
    const [early, joined] = [gateway.get(snapshot), gateway.get(snapshot)]
    await timePasses(50)
    commit('2.6')
    const late = gateway.get(snapshot)
    read()
    expect(versionHeaders(await early)[0]).toBe('1.5')
    expect(versionHeaders(await joined)[0]).toBe('1.5')
    expect(versionHeaders(await late)[0]).toBe('2.6')
  })

  test('no version without notifications of commits, nor in an empty database, but an age', async () => {
    gatewayAt()
    expect(versionHeaders(await gateway.get(snapshot))).toEqual([null, null, true])
    commit('1.5')
    expect(versionHeaders(await gateway.get(snapshot))).toEqual(['1.5', '100', true])
    listening(false)
    expect(versionHeaders(await gateway.get(snapshot))).toEqual([null, null, true])
    listening(true)
    commit('1.9')
    expect(versionHeaders(await gateway.get(snapshot))).toEqual(['1.9', '100', true])
  })

  test('the time since the last proof that all commits were notified, and no age before the first proof', async () => {
    gatewayAt('1.5')
    const daySeconds = 86_400
    versions.upToDate(performance.now() - daySeconds * 1_000)
    expect(age(await gateway.get(snapshot))).toBeGreaterThanOrEqual(daySeconds)
    versions.upToDate(performance.now())
    expect(age(await gateway.get(snapshot))).toBeLessThan(daySeconds)
    const unknown = gatewayOn(database, { versions: new DataVersions() })
    expect(versionHeaders(await unknown.get(snapshot))).toEqual([null, null, false])
  })

  test('neither version nor age for a refusal, and pages of other origins may read them', async () => {
    gatewayAt('1.5')
    const missing = await gateway.get('/vault/0x0000000000000000000000000000000000000009/snapshot')
    expect([missing.status, ...versionHeaders(missing)]).toEqual([404, null, null, false])
    const exposed = (await gateway.get(snapshot)).headers.get('access-control-expose-headers')
    for (const name of ['data-version', 'data-time', 'data-age']) expect(exposed?.split(', ')).toContain(name)
    const preflight = await gateway.get(snapshot, { method: 'OPTIONS' })
    expect(preflight.headers.get('access-control-allow-headers')?.split(', ')).toContain('min-data-version')
  })
})

test('versions never decrease on a connection, also for pipelined requests', async () => {
  gatewayAt('1.5')
  const server = await serverOf(gateway.app)
  servers.push(server)
  await gateway.get('/strategies')
  let read: () => void = () => undefined
  isSlow = new Promise((resolve) => (read = resolve))
  const { send, receives, socket } = await rawConnection(server.port)
  // The first waits for its body until version 2; the second is cached, and would get version 1 immediately.
  const body = JSON.stringify(bodies)
  const head = `POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\nmin-data-version: 2.6\r\n`
  send(`${head}content-length: ${body.length}\r\n\r\n${body}GET /strategies HTTP/1.1\r\nhost: a\r\n\r\n`)
  await expect.poll(() => server.running()).toBe(2)
  commit('2.6')
  read()
  const [came] = await receives(/data-version: [\s\S]*data-version: \S+\r\n/)
  expect(Array.from(came.matchAll(/data-version: (\S+)/g), ([, version]) => version)).toEqual(['2.6', '2.6'])
  socket.destroy()
})

describe('Min-Data-Version', () => {
  const requestVersion = (version: string, path = snapshot): Promise<Response> =>
    gateway.get(path, { headers: { 'min-data-version': version } })

  test('is reached: the newest version, an older one in memory, and one that only the log has', async () => {
    const logged = (await readVersionAt(database, 1)) ?? ''
    gatewayAt('1000.5', '1001.6')
    for (const version of ['1001.6', '1000.5', logged]) {
      const answers = [
        await requestVersion(version),
        await requestVersion(version, graphql),
        await requestVersion(version),
      ]
      for (const answer of answers) expect([answer.status, versionHeaders(answer)[0]]).toEqual([200, '1001.6'])
    }
  })

  test('is awaited, also by requests for cached responses', async () => {
    gatewayAt('1.5')
    await gateway.get(snapshot)
    const answers = [
      requestVersion('3.7'),
      requestVersion('2.6', '/strategies'),
      post(bodies, { 'min-data-version': '3.7' }),
    ]
    await timePasses(50)
    commit('2.6')
    commit('3.7')
    for (const each of answers) {
      const answer = await each
      expect([answer.status, versionHeaders(answer)[0]]).toEqual([200, '3.7'])
    }
  })

  test('that is not reached in time is refused with Retry-After', async () => {
    gatewayAt('1.5')
    const refused = await requestVersion('2.6')
    expect(refused.headers.get('retry-after')).toBe('2')
    expect(await problemOf(refused, 503)).toMatchObject({ type: 'urn:vault-gateway:problem:data-not-there-yet' })
    listening(false)
    const ofGraphql = await post(bodies, { 'min-data-version': '1.5' })
    expect([ofGraphql.status, ofGraphql.headers.get('retry-after')]).toEqual([503, '2'])
    expect((await errorOf(ofGraphql)).extensions).toEqual({ code: 'DATA_NOT_THERE_YET' })
  })

  test('of another history is refused: if its number belongs to another version, or to none', async () => {
    gatewayAt('1000.5', '1001.6')
    for (const version of ['1001.5', '1000.6', '1.1', '999.5']) {
      expect(await problemOf(await requestVersion(version), 409)).toMatchObject({
        type: 'urn:vault-gateway:problem:history-changed',
      })
    }
    expect((await errorOf(await requestVersion('1001.5', graphql))).extensions).toEqual({ code: 'HISTORY_CHANGED' })
    const waiting = requestVersion('1002.7')
    await timePasses(50)
    commit('1002.8')
    expect((await waiting).status).toBe(409)
  })

  /** Creates a gateway that was notified of later versions before its database lost them in a failover. */
  function afterFailover(): void {
    gatewayAt('100.6', far)
    listening(false)
    listening(true)
    commit('99.5')
  }

  const far = `${99 + versionLimits.ahead + 1}.6`

  test('of a lost history is refused also while the numbers of this one are lower', async () => {
    afterFailover()
    const waiting = [requestVersion('100.6'), requestVersion('100.6', graphql)]
    await timePasses(50)
    versions.upToDate(performance.now())
    for (const answer of waiting) expect((await answer).status).toBe(409)
    // Far more commits than are possible since the newest proof.
    expect((await requestVersion(far)).status).toBe(409)
  })

  test('that no commit has reached is pending, although every commit until now is present', async () => {
    gatewayAt('99.5')
    const waiting = [requestVersion('100.6'), requestVersion('100.6', graphql), requestVersion(far)]
    await timePasses(50)
    versions.upToDate(performance.now())
    for (const answer of waiting) expect((await answer).status).toBe(503)
    afterFailover()
    versions.upToDate(performance.now())
    const beyond = requestVersion(`${99 + versionLimits.ahead + 2}.6`)
    await timePasses(50)
    versions.upToDate(performance.now())
    expect((await beyond).status).toBe(503)
  })

  test('is not treated as one of a lost history without proof that every commit until now is present', async () => {
    afterFailover()
    const lagging = performance.now() - versionLimits.waitMilliseconds - 1
    versions.upToDate(lagging)
    const statuses = [requestVersion('100.6'), requestVersion(far)].map(async (answer) => (await answer).status)
    await timePasses(50)
    versions.upToDate(lagging)
    expect(await Promise.all(statuses)).toEqual([503, 503])
    // The proof of an earlier server.
    versions.upToDate(performance.now())
    listening(false)
    listening(true)
    commit('99.5')
    expect((await requestVersion(far)).status).toBe(503)
  })

  test('that is notified late is not of a lost history, however many proofs precede it', async () => {
    gatewayAt('99.5')
    const answer = requestVersion('100.6')
    await timePasses(50)
    versions.upToDate(performance.now())
    await timePasses(50)
    commit('100.6')
    expect((await answer).status).toBe(200)
  })

  test.each([
    '',
    '1',
    '1.',
    '.5',
    '0.5',
    '01.5',
    '-1.5',
    '1.5.6',
    '1.a',
    ' 1,5',
    '1e3.5',
    '1234567890123456.5',
    `1.${'5'.repeat(20)}`,
  ])('is refused where it is none: %s', async (version) => {
    gatewayAt('1.5')
    expect(await problemOf(await requestVersion(version), 400)).toMatchObject({
      type: 'urn:vault-gateway:problem:bad-data-version',
    })
    expect((await errorOf(await requestVersion(version, graphql))).extensions).toEqual({ code: 'BAD_DATA_VERSION' })
  })

  test('is awaited by a limited number of requests, and by none whose client has left', async () => {
    gatewayAt('1.5')
    const limits = { ...versionLimits, waiting: 4, waitMilliseconds: 60_000 }
    const waitFor = createAwaitVersion(versions, () => Promise.resolve(null), report, new Turns(10), limits)
    const leave: (() => void)[] = []
    const onDisconnect = (cancel: () => void): void => void leave.push(cancel)
    const isRefused = async (sender: string): Promise<void> => {
      const refused = await waitFor('2.6', sender, onDisconnect)
      expect([refused?.status, refused?.detail]).toEqual([
        503,
        expect.stringContaining('Too many requests are waiting'),
      ])
    }
    const waiting = ['first', 'first', 'second'].map((sender) => waitFor('2.6', sender, onDisconnect))
    // One sender has half of the places, and each next one a part of the rest.
    await isRefused('first')
    const last = waitFor('2.6', 'third', onDisconnect)
    await isRefused('second')
    leave[0]?.()
    expect((await waiting[0])?.status).toBe(503)
    const another = waitFor('2.6', 'fourth', onDisconnect)
    commit('2.6')
    expect(await Promise.all([...waiting.slice(1), last, another])).toEqual([null, null, null, null])
  })

  test('is not awaited if commits cannot reach it in time', async () => {
    gatewayAt('1.5')
    const limits = { ...versionLimits, waiting: 2, waitMilliseconds: 60_000 }
    const waitFor = createAwaitVersion(versions, () => Promise.resolve(null), report, new Turns(10), limits)
    const wanted = (seq: number): ReturnType<typeof waitFor> => waitFor(`${seq}.5`, 'sender', () => undefined)
    versions.upToDate(performance.now() - limits.waitMilliseconds - 1)
    const refused = await wanted(1 + limits.ahead + 1)
    expect([refused?.status, refused?.headers]).toEqual([503, expect.objectContaining({ 'retry-after': '2' })])
    expect(refused?.detail).toContain(`more than ${limits.ahead} commits beyond the newest`)
    // It has taken no place from reachable versions.
    const farthest = wanted(1 + limits.ahead)
    commit(`${1 + limits.ahead}.5`)
    expect(await farthest).toBeNull()
    // Its distance is unknown without notifications of commits.
    listening(false)
    const unknown = wanted(1_000_000)
    listening(true)
    commit('1000000.5')
    expect(await unknown).toBeNull()
  })

  test('of old versions is looked up with limited concurrency, and once for equal versions', async () => {
    gatewayAt('5000.5')
    let lookups = 0
    let answer: () => void = () => undefined
    const answered = new Promise<void>((resolve) => (answer = resolve))
    const versionAt = async (): Promise<string> => {
      lookups++
      await answered
      return '7.5'
    }
    const slow = gatewayOn(notified, { versions, versionAt, trustedProxies: 1 })
    const ask = async (version: string, sender: string): Promise<number> => {
      const headers = { 'min-data-version': version, 'x-forwarded-for': sender }
      return (await slow.get(snapshot, { headers })).status
    }
    const askMany = (from: number, sender: string): Promise<number>[] =>
      Array.from({ length: 30 }, (_, index) => ask(`${from + index}.5`, sender))
    const ofSender = versionLimits.lookups / 2
    const same = Array.from({ length: 10 }, () => ask('7.5', '192.0.2.1'))
    const others = askMany(100, '192.0.2.1')
    await expect.poll(() => lookups).toBe(ofSender)
    // The lookup of another sender is shared.
    const joined = ask('7.5', '192.0.2.2')
    const ofAnother = askMany(200, '192.0.2.2')
    await expect.poll(() => lookups).toBe(2 * ofSender)
    const ofThird = ask('300.5', '192.0.2.3')
    await timePasses(50)
    expect(lookups).toBe(2 * ofSender)
    answer()
    expect(new Set(await Promise.all([...same, joined]))).toEqual(new Set([200]))
    expect(new Set(await Promise.all([...others, ...ofAnother, ofThird]))).toEqual(new Set([409]))
    expect(lookups).toBe(1 + 30 + 30 + 1)
  })

  test('of an old version waits for its turn, in which senders alternate, for a limited time', async () => {
    gatewayAt('5000.5')
    const lookups: number[] = []
    const answers: (() => void)[] = []
    const versionAt = (seq: number): Promise<string> => {
      lookups.push(seq)
      return new Promise((resolve) => answers.push(() => resolve(`${seq}.5`)))
    }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const limits = { ...versionLimits, lookups: 1, waitMilliseconds: 60_000 }
    const waitFor = createAwaitVersion(versions, versionAt, report, new Turns(10), limits)
    const leave: (() => void)[] = []
    const ask = (seq: number, sender: string): ReturnType<typeof waitFor> =>
      waitFor(`${seq}.5`, sender, (cancel) => leave.push(cancel))
    const running = ask(7, 'first')
    const [left, next, late, ofOther] = [ask(8, 'first'), ask(9, 'first'), ask(10, 'first'), ask(11, 'second')]
    await expect.poll(() => lookups).toEqual([7])
    leave[1]?.()
    expect((await left)?.status).toBe(503)
    answers[0]?.()
    expect(await running).toBeNull()
    await expect.poll(() => lookups).toEqual([7, 9])
    answers[1]?.()
    expect(await next).toBeNull()
    await expect.poll(() => lookups).toEqual([7, 9, 11])
    // Its turn is not reached before the time limit.
    vi.advanceTimersByTime(limits.waitMilliseconds)
    const refused = await late
    expect([refused?.status, refused?.headers]).toEqual([503, expect.objectContaining({ 'retry-after': '2' })])
    expect(refused?.detail).toContain('ask for old versions at once')
    answers[2]?.()
    expect([await ofOther, lookups]).toEqual([null, [7, 9, 11]])
  })

  test('of an old version that was read before takes no place in the queue', async () => {
    gatewayAt('5000.5')
    const versionAt = (seq: number): Promise<string> => Promise.resolve(`${seq}.5`)
    const limits = { ...versionLimits, waiting: 2, waitMilliseconds: 60_000 }
    const waitFor = createAwaitVersion(versions, versionAt, report, new Turns(10), limits)
    const ask = (seq: number): ReturnType<typeof waitFor> => waitFor(`${seq}.5`, 'sender', () => undefined)
    expect(await ask(7)).toBeNull()
    const waiting = ask(5001)
    expect((await ask(8))?.status).toBe(503)
    expect(await ask(7)).toBeNull()
    versions.committed({ version: '5001.5', newestTs: 1 })
    expect(await waiting).toBeNull()
  })

  test('of old versions is stored for a limited number, and looked up again for the least recently used one', async () => {
    gatewayAt('5000.5')
    const lookups: number[] = []
    const versionAt = (seq: number): Promise<string> => Promise.resolve(`${lookups[lookups.push(seq) - 1] ?? ''}.5`)
    const waitFor = createAwaitVersion(versions, versionAt, report, new Turns(10), { ...versionLimits, known: 2 })
    for (const seq of [7, 8, 7, 9, 7, 8]) expect(await waitFor(`${seq}.5`, 'sender', () => undefined)).toBeNull()
    expect(lookups).toEqual([7, 8, 9, 8])
  })

  test('of an old version is refused as unavailable if the database does not answer', async () => {
    gatewayAt('5000.5')
    const away = gatewayOn(notified, { versions, versionAt: () => Promise.reject(new Error('gone')) })
    const refused = await away.get(snapshot, { headers: { 'min-data-version': '7.5' } })
    expect(await problemOf(refused, 503)).toMatchObject({ type: 'urn:vault-gateway:problem:database-unavailable' })
  })

  test('of an old version that fails is reported, once until one succeeds, unless it is an outage', async () => {
    gatewayAt('5000.5')
    let error: Error | null = new Error('42P01')
    const versionAt = (seq: number): Promise<string> =>
      error === null ? Promise.resolve(`${seq}.5`) : Promise.reject(error)
    const failing = gatewayOn(notified, { versions, versionAt })
    const ask = async (): Promise<number> =>
      (await failing.get(snapshot, { headers: { 'min-data-version': '7.5' } })).status
    expect([await ask(), await ask(), failing.reported]).toEqual([503, 503, [error]])
    error = null
    expect(await ask()).toBe(200)
    error = new DatabaseUnavailable('away')
    listening(false)
    listening(true)
    commit('5000.5')
    expect([await ask(), failing.reported.length]).toEqual([503, 1])
    error = new Error('42P01 again')
    expect([await ask(), failing.reported[1]]).toEqual([503, error])
  })
})
