import { request as httpRequest, type IncomingMessage } from 'node:http'
import { vi } from 'vitest'
import { notifyAll } from '../../src/cli/gateway.ts'
import type { Database } from '../../src/database/database.ts'
import type { ChangeListener } from '../../src/database/commits/change-listener.ts'
import { readVersionAt } from '../../src/database/read/commit-log.ts'
import type { AppOptions } from '../../src/http/app.ts'
import { DataVersions } from '../../src/http/cache/data-versions.ts'
import { createResponseCache } from '../../src/http/cache/response-cache.ts'
import { createLedgerLog } from '../../src/graphql/ledger-log.ts'
import { gatewayOn, type TestGateway } from './gateway.ts'
import { serverOf, type TestServer } from './server.ts'
import { defaultQueryLimits } from '../../src/limits.ts'
import { subscriptionLimits } from '../../src/limits/live.ts'

/** A gateway with an HTTP server, which listens for commits. */
export interface LiveGateway extends TestGateway {
  readonly server: TestServer
  readonly listener: ChangeListener
  close(): Promise<void>
}

/**
 * Starts a gateway.
 * @param port of an earlier gateway, to which its clients reconnect; 0 for a free one
 */
export async function liveGateway(
  database: Database,
  options: Partial<AppOptions> = {},
  port = 0,
): Promise<LiveGateway> {
  const cache = createResponseCache(4 * 1024 * 1024)
  const versions = new DataVersions()
  const versionAt = (seq: number) => readVersionAt(database, seq)
  const gateway = gatewayOn(database, { cache, versions, versionAt, ledgerLog: createLedgerLog(database), ...options })
  const listener = notifyAll(cache, versions, gateway.app.live)
  const reports = await database.listen(listener)
  versions.onWait = reports.pollSoon
  await vi.waitFor(() => {
    if (!versions.isListening) throw new Error('the gateway does not listen for commits')
  }, 30_000)
  const server = await serverOf(gateway.app, {}, { isBehindProxies: true, port })
  return {
    ...gateway,
    server,
    listener,
    async close() {
      gateway.app.live.endAll()
      await server.close()
      await reports.stop()
    },
  }
}

/** A received event, by the fields of its format. */
export interface ReceivedEvent {
  readonly event: string | null
  readonly id: string | null
  readonly data: string | null
  readonly retry: string | null
  readonly comment: string | null
}

/** A client of a stream of server-sent events. */
export interface LiveClient {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** All received events. */
  readonly events: ReceivedEvent[]
  /** Returns the id that the client would send in Last-Event-ID. */
  lastId(): string | null
  /** Returns the data of the last event that has data: a heartbeat, which has none, can follow it at any time. */
  lastData(): string | null
  /** Waits until this many events of a type are received, and returns them. */
  until(event: string, count: number): Promise<ReceivedEvent[]>
  /** Returns the body that is received so far. */
  text(): string
  readonly ended: Promise<void>
  close(): void
}

export interface LiveRequest {
  readonly headers?: Record<string, string>
  readonly method?: string
  readonly body?: string
}

/** Sends a request; resolves when the response headers are received. */
export function openStream(origin: string, path: string, options: LiveRequest = {}): Promise<LiveClient> {
  const { headers = {}, method = 'GET', body } = options
  return new Promise((resolve, reject) => {
    const sent = httpRequest(new URL(path, origin), { method, headers, agent: false }, (response) => {
      resolve(clientOf(response, () => sent.destroy()))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function clientOf(response: IncomingMessage, close: () => void): LiveClient {
  const events: ReceivedEvent[] = []
  let text = ''
  let parsed = 0
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
    for (let end = text.indexOf('\n\n', parsed); end >= 0; end = text.indexOf('\n\n', parsed)) {
      events.push(parseEvent(text.slice(parsed, end)))
      parsed = end + 2
    }
  })
  response.on('error', () => undefined)
  const ended = new Promise<void>((resolve) => response.once('close', resolve))
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    ended,
    close,
    text: () => text,
    lastId: () => events.findLast(({ id }) => id !== null)?.id ?? null,
    lastData: () => events.findLast(({ data }) => data !== null)?.data ?? null,
    async until(event, count) {
      const found = () => events.filter((each) => each.event === event)
      await vi.waitFor(
        () => {
          if (found().length < count) throw new Error(`${found().length} of ${count} ${event}: ${text.slice(-500)}`)
        },
        { timeout: 30_000, interval: 5 },
      )
      return found()
    },
  }
}

function parseEvent(block: string): ReceivedEvent {
  const field = (name: string): string | null => {
    const values = block.split('\n').filter((line) => line.startsWith(`${name}:`))
    return values.length === 0 ? null : values.map((line) => line.slice(name.length + 1).replace(/^ /, '')).join('\n')
  }
  return { event: field('event'), id: field('id'), data: field('data'), retry: field('retry'), comment: field('') }
}

/** Returns the response to a query as a subscription sends it: with the limit on the cost of events. */
export function asEvent(response: string): string {
  return response.replace(`"most":${defaultQueryLimits.cost}`, `"most":${subscriptionLimits.cost}`)
}
