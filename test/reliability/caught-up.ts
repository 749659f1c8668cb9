import { setTimeout as wait } from 'node:timers/promises'
import { clientOf } from './client.ts'
import type { History } from './history.ts'

const patienceSeconds = 30

/**
 * Waits until each vault is served as the feed leaves it.
 * @returns those that aren't in good time
 */
export async function isCaughtUp(port: number, history: History): Promise<string[]> {
  const client = clientOf(port, 1)
  const until = performance.now() + patienceSeconds * 1000
  const behind = new Set(history.vaults)
  while (behind.size > 0 && performance.now() < until) {
    for (const vault of behind) {
      const { status, body } = await client.ask({ method: 'GET', target: `/vault/${vault}/snapshot` })
      if (status === 200 && history.isLast(vault, JSON.parse(body) as never)) behind.delete(vault)
    }
    await wait(100)
  }
  client.close()
  return [...behind].map((vault) => `${vault} is not served as the feed leaves it`)
}
