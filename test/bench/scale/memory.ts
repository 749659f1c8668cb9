import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { generateLoad } from '../speed/load.ts'
import { gatewayProgram, startSystem } from '../speed/systems.ts'
import { readinessRequest, workloads } from '../speed/workloads.ts'
import { vaultAddress } from '../speed/world.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const loadSeconds = 5
const connections = 16
const vaultsAsked = 500

/** The greatest memory that a process has had, in megabytes; 0 where it has ended. Linux alone tells it. */
function peakMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  // A process that has ended, and whose end is not collected yet, has a status without it.
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024
}

/**
 * Measures the memory of a gateway that answers all workloads for vaults from all over the world, its cache on.
 * @param env where its database is
 */
export async function gatewayMegabytes(env: Readonly<Record<string, string>>, vaults: number): Promise<number> {
  const system = await startSystem(gatewayProgram({ ...env, CACHE_MEGABYTES: '16' }, readinessRequest('rest')))
  try {
    const asked = Array.from({ length: vaultsAsked }, (_, index) =>
      vaultAddress(1 + Math.floor((index * vaults) / vaultsAsked)),
    )
    const requests = asked.flatMap((address) => workloads.flatMap(({ ways }) => ways.rest?.(address) ?? []))
    await generateLoad(requests, { port: system.port, connections, seconds: loadSeconds })
    return peakMegabytes(system.pid)
  } finally {
    await system.close()
  }
}

/**
 * Measures the memory of an ingester that marks vaults from all over the world, each as often as the others.
 * @param env where its database is
 * @param newest time of the newest fact in the database, in Unix seconds
 */
export async function ingesterMegabytes(
  env: Readonly<Record<string, string>>,
  { vaults, marks, newest }: { vaults: number; marks: number; newest: number },
): Promise<number> {
  const ingester = spawn(process.execPath, ['--max-semi-space-size=64', 'src/start.mjs', 'ingest', '-'], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const ended = new Promise<number | null>((resolve) => ingester.once('close', resolve))
  let megabytes = 0
  const watch = setInterval(() => (megabytes = Math.max(megabytes, peakOrZero(ingester.pid))), 50)
  for (let index = 0; index < marks; index++) {
    const address = vaultAddress(1 + Math.floor((index * 7_919) % vaults))
    const isTaken = ingester.stdin.write(`${JSON.stringify(mark(address, newest + 1 + index, index))}\n`)
    if (!isTaken) await new Promise((resolve) => ingester.stdin.once('drain', resolve))
  }
  ingester.stdin.end()
  const status = await ended
  clearInterval(watch)
  if (status !== 0) throw new Error(`The ingester ended with ${String(status)}`)
  return megabytes
}

function peakOrZero(pid: number | undefined): number {
  try {
    return pid === undefined ? 0 : peakMegabytes(pid)
  } catch {
    // It has ended.
    return 0
  }
}

function mark(vault: string, ts: number, index: number): object {
  return {
    kind: 'mark',
    ts,
    vault,
    valueUsd: String(100_000 + (index % 5_000)),
    prices: { USDC: '1', WETH: String(2_500 + (index % 100)) },
    positions: [],
  }
}
