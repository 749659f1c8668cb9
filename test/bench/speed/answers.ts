import { isDeepStrictEqual } from 'node:util'
import type { Contestant } from './contest.ts'
import { answerOf } from './systems.ts'
import { workloads } from './workloads.ts'
import { vaultAddress } from './world.ts'

/**
 * Checks that all of them answer, without errors, and that the bare handler, if it is one of them, answers what the gateway does: only equal
 * work can be compared.
 * @throws where one doesn't
 */
export async function checkAnswers(contestants: readonly Contestant[]): Promise<void> {
  for (const workload of workloads) {
    const bodies = new Map<string, unknown>()
    for (const { name, system, asked } of contestants) {
      const way = asked(workload)
      if (way === null) continue
      const body: unknown = JSON.parse(await answerOf(system.port, way(vaultAddress(1))))
      if (typeof body === 'object' && body !== null && 'errors' in body) {
        throw new Error(`${name} answers ${workload.name} with ${JSON.stringify(body.errors)}`)
      }
      bodies.set(name, body)
    }
    const bare = bodies.get('bare')
    if (bare === undefined) continue
    const own =
      bodies.get('REST cold') ??
      (bodies.get('GraphQL cold') as { data?: { vaults?: { nodes?: unknown } } }).data?.vaults?.nodes
    if (!isDeepStrictEqual(bare, own)) {
      throw new Error(`bare answers ${workload.name} otherwise than the gateway does`)
    }
  }
}
