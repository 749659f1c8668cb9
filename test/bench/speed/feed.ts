import { spawn } from 'node:child_process'
import path from 'node:path'
import { holdings, vaultAddress } from './world.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const vaultsASecond = 20

/** A feed into a PostgreSQL by the project's own ingester, which changes 20 vaults a second while it flows. */
export interface LiveFeed {
  flow(): void
  pause(): void
  /** @throws where the ingester did not take all of it */
  close(): Promise<void>
}

/** @param newest time of the world's newest fact, which those of the feed come after */
export function liveFeed(url: string, vaults: number, newest: number): LiveFeed {
  const args = ['src/start.mjs', 'ingest', '-']
  const env = { PATH: process.env['PATH'] ?? '', DATABASE_URL: url }
  const ingester = spawn(process.execPath, args, { cwd: root, env })
  let said = ''
  ingester.stdout.resume()
  ingester.stderr.setEncoding('utf8').on('data', (words: string) => (said += words))
  // One that has ended says why by its status.
  ingester.stdin.on('error', () => undefined)
  const ended = new Promise<number | null>((resolve) => ingester.once('close', resolve))
  let sent = 0
  let timer: NodeJS.Timeout | undefined
  const send = (): void => {
    ingester.stdin.write(`${JSON.stringify(mark(vaultAddress(1 + ((sent * 7) % vaults)), newest + 1 + sent, sent))}\n`)
    sent++
  }
  return {
    flow: () => (timer ??= setInterval(send, 1000 / vaultsASecond)),
    pause: () => {
      clearInterval(timer)
      timer = undefined
    },
    close: async () => {
      clearInterval(timer)
      ingester.stdin.end()
      const status = await ended
      if (status !== 0) throw new Error(`The ingester ended with ${String(status)}:\n${said}`)
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
