import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { backoff } from '../../src/cli/workers/supervisor.ts'
import { postgresUrl } from '../support/database.ts'
import { feedText } from '../support/feeds.ts'
import { type Home, prepareHomes } from '../support/home.ts'
import { commandLine, type Environment, type Running } from '../support/process.ts'
import { parseMetrics } from '../support/prometheus.ts'
import { rawConnection } from '../support/raw.ts'
import { strategy } from '../support/world.ts'

const homes = prepareHomes()
const { start, run } = commandLine()

/** Options of asynchronous expectations: the machine may be busy with other tests. */
const patience = { timeout: 50_000, interval: 50 }

interface Line {
  readonly msg: string
  readonly worker?: number
  readonly pid?: number
  readonly [fact: string]: unknown
}

interface Fleet {
  readonly primary: Running
  readonly port: number
  lines(msg: string): Line[]
  /** Resolves when this number of workers have begun to listen, including replaced ones. */
  listening(count: number): Promise<void>
  /** Returns the id of the process that is currently worker `worker`. */
  pidOf(worker: number): number
  /** Sends requests to one worker: all others are frozen meanwhile, and accept no connections. */
  askWorker(worker: number, target: string, times?: number): Promise<WorkerResponse[]>
}

interface WorkerResponse {
  readonly status: number
  readonly header: (name: string) => string
  readonly body: string
}

/** Sends a request on a new connection, which any worker may answer. */
function ask(port: number, target: string): Promise<WorkerResponse> {
  return new Promise((resolve, reject) => {
    get({ port, path: target, host: '127.0.0.1', agent: false }, (response) => {
      const { statusCode = 0, headers } = response
      const toResponse = (body: string): WorkerResponse => ({
        status: statusCode,
        header: (name) => String(headers[name]),
        body,
      })
      text(response).then((body) => resolve(toResponse(body)), reject)
    }).on('error', reject)
  })
}

async function askTimes(times: number, port: number, target: string): Promise<WorkerResponse[]> {
  const responses: WorkerResponse[] = []
  while (responses.length < times) responses.push(await ask(port, target))
  return responses
}

/** Returns the number of responses to /strategies by worker, and the processes that report their memory. */
function reportsOf(body: string): { requests: Record<string, number>; processes: string[] } {
  const metrics = parseMetrics(body)
  const samples = metrics.get('vault_gateway_http_request_duration_seconds')?.samples ?? []
  const counts = samples.filter(({ name, labels }) => name.endsWith('_count') && labels['route'] === '/strategies')
  const memory = metrics.get('process_resident_memory_bytes')?.samples ?? []
  return {
    requests: Object.fromEntries(counts.map(({ labels, value }) => [labels['worker'] ?? '', value])),
    processes: memory.map(({ labels }) => labels['worker'] ?? '').sort(),
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('WORKERS', () => {
  test('is rejected with the embedded database, with a remedy', async () => {
    const { status, stderr } = await run(['serve'], { WORKERS: '2', DATA_DIR: path.join(homes.folder, 'none') })
    expect(status).toBe(2)
    expect(stderr).toMatch(/WORKERS .* embedded database .* one process: name a PostgreSQL in DATABASE_URL/)
  })

  test('that exit immediately are replaced after growing delays, up to a limit', () => {
    expect([0, 1, 2, 3, 4].map(backoff)).toEqual([0, 100, 200, 400, 800])
    expect([8, 50, 5_000].map(backoff)).toEqual([10_000, 10_000, 10_000])
  })
})

describe.runIf(postgresUrl !== undefined)('several workers on PostgreSQL', () => {
  let home: Home

  beforeEach(async () => {
    home = await homes.create()
  })

  async function serving(workers: number, env: Environment = {}, args: readonly string[] = []): Promise<Fleet> {
    const environment = { PORT: '0', DEMO: '0', WORKERS: String(workers), ...home.env, ...env }
    const primary = start(['serve', ...args], environment)
    const [, port = ''] = await primary.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
    const lines = (msg: string): Line[] =>
      Array.from(primary.said().matchAll(/^\{.*\}$/gm), ([line]) => JSON.parse(line) as Line).filter(
        (line) => line.msg === msg,
      )
    const listening = (count: number) =>
      vi.waitFor(() => expect(lines('Listening').length).toBeGreaterThanOrEqual(count), patience)
    await listening(workers)
    const pidOf = (number: number): number =>
      lines('A worker starts').findLast(({ worker }) => worker === number)?.pid ?? 0
    return {
      primary,
      port: Number(port),
      lines,
      listening,
      pidOf,
      async askWorker(worker, target, times = 1) {
        const others = Array.from({ length: workers }, (_, at) => at + 1).filter((number) => number !== worker)
        for (const other of others) process.kill(pidOf(other), 'SIGSTOP')
        try {
          return await askTimes(times, Number(port), target)
        } finally {
          for (const other of others) process.kill(pidOf(other), 'SIGCONT')
        }
      },
    }
  }

  test('share one port and one rate limit, and each serves the metrics of all', async () => {
    const { port, lines, askWorker } = await serving(3, { RATE_LIMIT: '100/600' })
    const responses: WorkerResponse[] = []
    for (const worker of [1, 2, 3]) responses.push(...(await askWorker(worker, '/strategies', 4)))
    expect(responses.map(({ status, body }) => [status, body])).toEqual(responses.map(() => [200, '[]']))
    expect(responses.map(({ header }) => Number(/r=(\d+)/.exec(header('ratelimit'))?.[1]))).toEqual(
      responses.map((_, index) => 99 - index),
    )
    await vi.waitFor(() => expect(lines('Answered')).toHaveLength(12), patience)
    expect(new Set(lines('Answered').map(({ worker }) => worker))).toEqual(new Set([1, 2, 3]))
    expect(new Set(lines('A worker starts').map(({ pid }) => pid)).size).toBe(3)

    // A worker that is too busy to report in time is omitted.
    await vi.waitFor(async () => {
      for (const { body } of await askTimes(3, port, '/metrics')) {
        const { requests, processes } = reportsOf(body)
        expect(requests).toEqual({ 1: 4, 2: 4, 3: 4 })
        expect(processes).toEqual(['1', '2', '3', 'primary'])
        expect(parseMetrics(body).get('vault_gateway_database_up')?.samples).toMatchObject([{ labels: {}, value: 1 }])
      }
    }, patience)
  })

  test('have the metrics of all on a separate port', async () => {
    const { port, lines } = await serving(2, { METRICS_PORT: '0' })
    expect((await ask(port, '/metrics')).status).toBe(404)
    const [telling] = lines('Serving metrics')
    await vi.waitFor(async () => {
      const { body } = await ask(Number(telling?.['port']), '/metrics')
      expect(reportsOf(body).processes).toEqual(['1', '2', 'primary'])
    }, patience)
  })

  test('continue to serve when one is killed and replaced', async () => {
    const { primary, port, lines, listening, pidOf, askWorker } = await serving(3)
    const [first, killed, third] = [pidOf(1), pidOf(2), pidOf(3)]
    process.kill(killed, 'SIGKILL')
    await primary.says(/"msg":"A worker ended, and is replaced"/)
    // The next one takes a while to start.
    const responses = await askTimes(12, port, '/strategies')
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
    await listening(4)
    // A frozen worker may write the log line of an earlier response late.
    await vi.waitFor(() => expect(lines('Answered')).toHaveLength(12), patience)
    for (const worker of [1, 2, 3]) {
      expect(await askWorker(worker, '/strategies')).toMatchObject([{ status: 200 }])
      await vi.waitFor(() => expect(lines('Answered')).toHaveLength(12 + worker), patience)
      expect(lines('Answered').at(-1)?.worker).toBe(worker)
    }
    expect(lines('A worker ended, and is replaced')).toMatchObject([{ worker: 2, pid: killed, signal: 'SIGKILL' }])
    expect([pidOf(1), pidOf(3)]).toEqual([first, third])
    expect(pidOf(2)).not.toBe(killed)
  })

  test('run the program of their primary, even if its sources change meanwhile', async () => {
    const { pidOf } = await serving(2)
    for (const worker of [1, 2]) {
      const command = (await readFile(`/proc/${pidOf(worker)}/cmdline`, 'utf8')).split('\0')
      expect(command).toContainEqual(expect.stringMatching(/\/\.build\/[0-9a-f]{16}\/main\.js$/))
    }
  })

  test('answer while one of them is frozen, also on new connections', async () => {
    const { port, pidOf } = await serving(2)
    process.kill(pidOf(1), 'SIGSTOP')
    const responses = await askTimes(10, port, '/strategies')
    process.kill(pidOf(1), 'SIGCONT')
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
  })

  test('finish running requests on SIGTERM, and the primary exits with 0 after them', async () => {
    const { primary, port, pidOf } = await serving(2, { STOP_SECONDS: '60' })
    const body = JSON.stringify({ query: '{ strategies { id } }' })
    const connection = await rawConnection(port)
    const head = ['POST /graphql HTTP/1.1', 'Host: x', 'Content-Type: application/json', 'Expect: 100-continue']
    connection.send([...head, `Content-Length: ${body.length}`, '', ''].join('\r\n'))
    await connection.receives(/100 Continue/)
    primary.kill('SIGTERM')
    await primary.says(/"worker":\d,"stopSeconds":60,"msg":"Stopping/)
    connection.send(body)
    expect(await connection.closed).toMatch(/HTTP\/1\.1 200 OK\r\n.*"data":\{"strategies":\[\]\}/s)
    const { status, signal, stderr } = await primary.ended
    expect({ status, signal }).toEqual({ status: 0, signal: null })
    expect(stderr).not.toMatch(/"level":"(warn|error)"/)
    expect([1, 2].map(pidOf).filter(isAlive)).toEqual([])
  })

  test('end with their primary, however it ends', async () => {
    const { primary, pidOf } = await serving(2)
    const pids = [1, 2].map(pidOf)
    primary.kill('SIGKILL')
    await primary.ended
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), patience)
  })

  test('serve the facts that the primary reads, and are not ready when its feed is stopped', async () => {
    const feed = path.join(homes.folder, 'workers.ndjson')
    await writeFile(feed, feedText([strategy('calm')]))
    const { primary, port, listening, pidOf, askWorker } = await serving(2, {}, ['--feed', feed])
    const askBoth = async (target: string): Promise<WorkerResponse[]> => [
      ...(await askWorker(1, target)),
      ...(await askWorker(2, target)),
    ]
    await vi.waitFor(async () => {
      for (const { body } of await askBoth('/strategies')) expect(body).toContain('"calm"')
    }, patience)
    for (const { status } of await askBoth('/ready')) expect(status).toBe(200)

    await appendFile(feed, '{"kind":"trade"}\n')
    await primary.says(/"msg":"The feed is stopped/)
    const allAreStopped = () =>
      vi.waitFor(async () => {
        for (const { status, body } of await askBoth('/ready')) {
          expect(status).toBe(503)
          expect(body).toContain('The feed is stopped by a bad fact in line 2')
        }
      }, patience)
    await allAreStopped()
    expect((await ask(port, '/metrics')).body).toContain('\nvault_gateway_feed_stopped 1\n')

    process.kill(pidOf(1), 'SIGKILL')
    await listening(3)
    await allAreStopped()
  })

  test('are not started if the first one cannot listen', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '0.0.0.0', resolve))
    const env = { WORKERS: '2', PORT: String((taken.address() as AddressInfo).port), HOST: '0.0.0.0', ...home.env }
    const { status, stderr } = await run(['serve'], { DEMO: '0', ...env })
    await new Promise((resolve) => taken.close(resolve))
    expect(status).toBe(1)
    expect(stderr).toMatch(/can't listen on port \d+.* Set PORT to another one/)
    expect(stderr).toContain('The first worker ended with status 1 before it served')
    expect(stderr.match(/A worker starts/g)).toHaveLength(1)
  })

  /** Starts a gateway, and runs a test while its first worker is frozen before it listens. */
  async function whileStarting(run: (primary: Running, pid: number) => Promise<void>): Promise<void> {
    const primary = start(['serve'], { PORT: '0', DEMO: '0', WORKERS: '2', ...home.env })
    const [line] = await primary.says(/^\{.*"msg":"A worker starts".*\}$/m)
    const { pid = 0 } = JSON.parse(line) as Line
    process.kill(pid, 'SIGSTOP')
    await run(primary, pid).finally(() => isAlive(pid) && process.kill(pid, 'SIGKILL'))
  }

  test('are not started if only the primary gets a signal while the first one starts, which is ended', () =>
    whileStarting(async (primary, pid) => {
      primary.kill('SIGTERM')
      await expect.poll(() => primary.said(), patience).toContain('Stopped before the start was complete')
      const { status, stderr } = await primary.ended
      expect(status).toBe(0)
      expect(stderr.match(/A worker starts/g)).toHaveLength(1)
      expect(isAlive(pid)).toBe(false)
    }))

  test('are not started if the first one is killed, and the message names the signal', () =>
    whileStarting(async (primary, pid) => {
      process.kill(pid, 'SIGKILL')
      const { status, stderr } = await primary.ended
      expect(status).toBe(1)
      expect(stderr).toContain('The first worker was ended by SIGKILL before it served')
    }))
})
