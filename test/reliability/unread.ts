import { setTimeout as wait } from 'node:timers/promises'
import type { Homes } from '../support/home.ts'
import { parseMetrics } from '../support/prometheus.ts'
import { startGateway } from './gateway.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'
import { createStreamAttacker } from './streams/attacker.ts'
import { createStreamWorld } from './streams/world.ts'

/** Options of the program `unread`. */
interface UnreadOptions {
  readonly homes: Homes
  readonly clients: number
  /** Maximum increase of memory. */
  readonly maxBytes: number
  readonly reportProgress: ReportProgress
}

const streamsPerAddress = 20
const commitMilliseconds = 500
/** Time until all streams are closed: buffers fill, then the grace period and a heartbeat pass. */
const maxSeconds = 300
const ledgerRows = 0

/**
 * Opens streams of many vaults, which all change, without reading them; checks that the gateway closes them, and its
 * memory.
 */
export async function unread({ homes, clients, maxBytes, reportProgress }: UnreadOptions): Promise<ProgramResult> {
  const home = await homes.create()
  const database = await home.open()
  const gateway = await startGateway([], { CACHE_MEGABYTES: '4', ...home.env })
  const attackers: ReturnType<typeof createStreamAttacker>[] = []
  try {
    const { oldest, vaults, commit } = await createStreamWorld(database, ledgerRows)
    const vaultList = vaults.slice(0, Math.min(100, Math.floor(40_000 / clients))).join()
    await warmUp(gateway.port, oldest, vaultList, commit)
    const base = await gateway.read()
    const statuses = new Map<string, number>()
    for (let at = 0; at * streamsPerAddress < clients; at++) {
      const localAddress = process.platform === 'linux' ? `127.4.0.${at + 1}` : '127.0.0.1'
      const ended = Promise.resolve()
      const attacker = createStreamAttacker({ port: gateway.port, localAddress, vaults, oldest, ended, statuses })
      attackers.push(attacker)
      for (let stream = 0; stream < Math.min(streamsPerAddress, clients - at * streamsPerAddress); stream++) {
        attacker.get(`/live/vaults?vault=${vaultList}`, { isReading: false })
      }
    }
    let maxBytesSeen = 0
    let closed = 0
    const startedAt = performance.now()
    while (closed < clients && performance.now() - startedAt < maxSeconds * 1000) {
      await Promise.all([commit(), wait(commitMilliseconds)])
      maxBytesSeen = Math.max(maxBytesSeen, (await gateway.read()).rssBytes)
      closed = await closedStreams(gateway.port, 'slow')
      reportProgress(`${closed} closed, ${Math.round((maxBytesSeen - base.rssBytes) / 1e6)} MB above the base`)
    }
    const growth = maxBytesSeen - base.rssBytes
    return {
      measurements: {
        'clients that never read': clients,
        'closed streams, by /metrics': closed,
        'seconds until all were closed': Math.round((performance.now() - startedAt) / 1000),
        'maximum memory above the base, MB': Math.round(growth / 1e6),
      },
      violations: [
        ...(closed === clients ? [] : [`${clients - closed} streams were not closed`]),
        ...(growth <= maxBytes ? [] : [`memory grew by ${Math.round(growth / 1e6)} MB`]),
      ],
    }
  } finally {
    for (const attacker of attackers) attacker.close()
    await gateway.kill()
    await database.close()
  }
}

/** Runs the same streams with clients that read, so that memory of compiled code and of cached rows does not count. */
async function warmUp(port: number, oldest: string, vaultList: string, commit: () => Promise<unknown>): Promise<void> {
  const options = { port, localAddress: '127.0.0.1', vaults: [], oldest, ended: Promise.resolve(), statuses: new Map() }
  const client = createStreamAttacker(options)
  for (let stream = 0; stream < streamsPerAddress / 2; stream++) {
    client.get(`/live/vaults?vault=${vaultList}`, { isReading: true })
  }
  for (let commits = 0; commits < 10; commits++) await Promise.all([commit(), wait(commitMilliseconds)])
  client.close()
  await wait(1_000)
}

/** Returns the number of streams closed for a reason, by /metrics. */
async function closedStreams(port: number, reason: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const samples = parseMetrics(text).get('vault_gateway_live_streams_closed_total')?.samples ?? []
  return samples.find(({ labels }) => labels['reason'] === reason)?.value ?? 0
}
