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
const requestedVaults = 500

/**
 * Returns the peak resident memory of a process in megabytes; 0 for one that has exited and is not reaped yet.
 * @throws {Error} if there is no such process, and on systems other than Linux
 * @see https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
 */
function peakMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  // A zombie process has no VmHWM.
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024
}

/**
 * Measures the peak memory of a gateway with a response cache, under a load of all workloads on vaults throughout the world.
 * @param env variables that select the database
 * @param vaults number of vaults in the world
 */
export async function measureGatewayMegabytes(env: Readonly<Record<string, string>>, vaults: number): Promise<number> {
  const system = await startSystem(gatewayProgram({ ...env, CACHE_MEGABYTES: '16' }, readinessRequest('rest')))
  try {
    const addresses = Array.from({ length: requestedVaults }, (_, index) =>
      vaultAddress(1 + Math.floor((index * vaults) / requestedVaults)),
    )
    const requests = addresses.flatMap((address) => workloads.flatMap(({ ways }) => ways.rest?.(address) ?? []))
    await generateLoad(requests, { port: system.port, connections, seconds: loadSeconds })
    return peakMegabytes(system.pid)
  } finally {
    await system.close()
  }
}

/**
 * Measures the peak memory of an ingester of marks, which are spread evenly over all vaults.
 * @param env variables that select the database
 * @param newest Unix seconds of the newest fact in the database
 */
export async function measureIngesterMegabytes(
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
  const timer = setInterval(() => (megabytes = Math.max(megabytes, peakOrZero(ingester.pid))), 50)
  for (let index = 0; index < marks; index++) {
    const address = vaultAddress(1 + Math.floor((index * 7_919) % vaults))
    const hasSpace = ingester.stdin.write(`${JSON.stringify(mark(address, newest + 1 + index, index))}\n`)
    if (!hasSpace) await new Promise((resolve) => ingester.stdin.once('drain', resolve))
  }
  ingester.stdin.end()
  const status = await ended
  clearInterval(timer)
  if (status !== 0) throw new Error(`The ingester exited with status ${String(status)}`)
  return megabytes
}

function peakOrZero(pid: number | undefined): number {
  try {
    return pid === undefined ? 0 : peakMegabytes(pid)
  } catch {
    // The process has exited.
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
