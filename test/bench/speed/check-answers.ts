import { isDeepStrictEqual } from 'node:util'
import type { BenchmarkTarget } from './comparison.ts'
import { fetchText } from './systems.ts'
import { workloads } from './workloads.ts'
import { vaultAddress } from './world.ts'

/**
 * Sends each workload to each target once, and compares the answers of the bare handler, if it is one of the targets, with
 * those of the gateway: only equal work can be compared.
 * @throws {Error} for a GraphQL error, a status other than 200, or an answer of the bare handler that differs
 */
export async function checkAnswers(targets: readonly BenchmarkTarget[]): Promise<void> {
  for (const workload of workloads) {
    const bodies = new Map<string, unknown>()
    for (const { name, system, requestFor } of targets) {
      const build = requestFor(workload)
      if (build === null) continue
      const body: unknown = JSON.parse(await fetchText(system.port, build(vaultAddress(1))))
      if (typeof body === 'object' && body !== null && 'errors' in body) {
        throw new Error(`${name} answers ${workload.name} with ${JSON.stringify(body.errors)}`)
      }
      bodies.set(name, body)
    }
    const bare = bodies.get('bare')
    if (bare === undefined) continue
    const gateway =
      bodies.get('REST cold') ??
      (bodies.get('GraphQL cold') as { data?: { vaults?: { nodes?: unknown } } }).data?.vaults?.nodes
    if (!isDeepStrictEqual(bare, gateway)) {
      throw new Error(`The answers of bare and of the gateway to ${workload.name} differ`)
    }
  }
}
