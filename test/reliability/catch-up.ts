import { setTimeout as wait } from 'node:timers/promises'
import { createClient } from './client.ts'
import type { FeedHistory } from './feed-history.ts'

const timeoutSeconds = 30

/**
 * Waits until a gateway serves the final state of each vault.
 * @returns the vaults whose final state is not served within 30 s
 */
export async function waitUntilCaughtUp(port: number, history: FeedHistory): Promise<string[]> {
  const client = createClient(port, 1)
  const deadline = performance.now() + timeoutSeconds * 1000
  const behind = new Set(history.vaults)
  while (behind.size > 0 && performance.now() < deadline) {
    for (const vault of behind) {
      const { status, body } = await client.send({ method: 'GET', target: `/vault/${vault}/snapshot` })
      if (status === 200 && history.isFinalState(vault, JSON.parse(body) as never)) behind.delete(vault)
    }
    await wait(100)
  }
  client.close()
  return [...behind].map((vault) => `${vault} is not served in its final state`)
}
