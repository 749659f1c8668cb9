import { spawn } from 'node:child_process'
import path from 'node:path'
import { holdings, vaultAddress } from './world.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const vaultsPerSecond = 20

/** An `ingest` process on a PostgreSQL database, which receives 20 marks of different vaults a second until it is paused. */
export interface BackgroundFeed {
  resume(): void
  pause(): void
  /** @throws {Error} if the ingester exits with another status than 0 */
  close(): Promise<void>
}

/**
 * Starts the ingester, paused.
 * @param newest Unix seconds of the newest fact in the world; those of the feed are later
 */
export function startBackgroundFeed(url: string, vaults: number, newest: number): BackgroundFeed {
  const args = ['src/start.mjs', 'ingest', '-']
  const env = { PATH: process.env['PATH'] ?? '', DATABASE_URL: url }
  const ingester = spawn(process.execPath, args, { cwd: root, env })
  let stderr = ''
  ingester.stdout.resume()
  ingester.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  // Writing to an ingester that has ended fails; close() reports its status.
  ingester.stdin.on('error', () => undefined)
  const ended = new Promise<number | null>((resolve) => ingester.once('close', resolve))
  let sent = 0
  let timer: NodeJS.Timeout | undefined
  const send = (): void => {
    ingester.stdin.write(`${JSON.stringify(mark(vaultAddress(1 + ((sent * 7) % vaults)), newest + 1 + sent, sent))}\n`)
    sent++
  }
  return {
    resume: () => (timer ??= setInterval(send, 1000 / vaultsPerSecond)),
    pause: () => {
      clearInterval(timer)
      timer = undefined
    },
    close: async () => {
      clearInterval(timer)
      ingester.stdin.end()
      const status = await ended
      if (status !== 0) throw new Error(`The ingester exited with status ${String(status)}:\n${stderr}`)
    },
  }
}

function mark(vault: string, ts: number, sent: number): object {
  const price = (2_500 + (sent % 100)).toString()
  const current = (2_400 + (sent % 300)).toString()
  return {
    kind: 'mark',
    ts,
    vault,
    valueUsd: (100_000 + (sent % 5_000)).toString(),
    prices: Object.fromEntries(Object.keys(holdings).map((symbol) => [symbol, symbol === 'USDC' ? '1' : price])),
    positions: [0, 1].map((index) => ({
      id: `position-${index}`,
      pool: { a: 'WETH', b: 'USDC', venue: 'uniswap-v3', feeTier: 500 },
      range: { lower: '1800', upper: '2900', current },
      pendingRewardsUsd: '12.5',
    })),
  }
}
