import { setTimeout as wait } from 'node:timers/promises'
import type { Homes } from '../support/home.ts'
import { parseMetrics } from '../support/prometheus.ts'
import { startGateway } from './gateway.ts'
import type { Finding, Say } from './show.ts'
import { createStreamAttacker } from './streams/attacker.ts'
import { createWorld } from './streams/world.ts'

interface UnreadOptions {
  readonly homes: Homes
  readonly clients: number
  /** Bytes of memory that they may take together. */
  readonly maxBytes: number
  readonly say: Say
}

const perAddress = 20
const commitMilliseconds = 500
/** Time in which the gateway closes clients that do not read: their buffers fill, then come a grace time and a heartbeat. */
const maxSeconds = 300
const ledgerRows = 0

/** Opens streams of many vaults, which all change, and never reads them. */
export async function unread({ homes, clients, maxBytes, say }: UnreadOptions): Promise<Finding> {
  const home = await homes.create()
  const database = await home.open()
  const gateway = await startGateway([], { CACHE_MEGABYTES: '4', ...home.env })
  const attackers: ReturnType<typeof createStreamAttacker>[] = []
  try {
    const { oldest, vaults, commit } = await createWorld(database, ledgerRows)
    const list = vaults.slice(0, Math.min(100, Math.floor(40_000 / clients))).join()
    await warmUp(gateway.port, oldest, list, commit)
    const base = await gateway.read()
    const statuses = new Map<string, number>()
    for (let at = 0; at * perAddress < clients; at++) {
      const localAddress = process.platform === 'linux' ? `127.4.0.${at + 1}` : '127.0.0.1'
      const over = Promise.resolve()
      const attacker = createStreamAttacker({ port: gateway.port, localAddress, vaults, oldest, over, statuses })
      attackers.push(attacker)
      for (let stream = 0; stream < Math.min(perAddress, clients - at * perAddress); stream++) {
        attacker.get(`/live/vaults?vault=${list}`, { isReading: false })
      }
    }
    let most = 0
    let closed = 0
    const begun = performance.now()
    while (closed < clients && performance.now() - begun < maxSeconds * 1000) {
      await Promise.all([commit(), wait(commitMilliseconds)])
      most = Math.max(most, (await gateway.read()).rssBytes)
      closed = await closedFor(gateway.port, 'slow')
      say(`${closed} closed, ${Math.round((most - base.rssBytes) / 1e6)} MB over base`)
    }
    const grown = most - base.rssBytes
    return {
      figures: {
        'clients that never read': clients,
        'closed and counted': closed,
        'seconds until then': Math.round((performance.now() - begun) / 1000),
        'memory over base at most, MB': Math.round(grown / 1e6),
      },
      flaws: [
        ...(closed === clients ? [] : [`${clients - closed} were not closed`]),
        ...(grown <= maxBytes ? [] : [`memory grew by ${Math.round(grown / 1e6)} MB`]),
      ],
    }
  } finally {
    for (const attacker of attackers) attacker.close()
    await gateway.kill()
    await database.close()
  }
}

/** Lets clients that read do the same: memory of compiled code and of the database's rows does not count. */
async function warmUp(port: number, oldest: string, list: string, commit: () => Promise<unknown>): Promise<void> {
  const options = { port, localAddress: '127.0.0.1', vaults: [], oldest, over: Promise.resolve(), statuses: new Map() }
  const client = createStreamAttacker(options)
  for (let stream = 0; stream < perAddress / 2; stream++) {
    client.get(`/live/vaults?vault=${list}`, { isReading: true })
  }
  for (let commits = 0; commits < 10; commits++) await Promise.all([commit(), wait(commitMilliseconds)])
  client.close()
  await wait(1_000)
}

async function closedFor(port: number, reason: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const samples = parseMetrics(text).get('vault_gateway_live_streams_closed_total')?.samples ?? []
  return samples.find(({ labels }) => labels['reason'] === reason)?.value ?? 0
}
