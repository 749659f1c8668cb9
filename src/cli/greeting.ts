import { isIPv6 } from 'node:net'
import type { Config } from '../config.ts'
import type { Database } from '../database/database.ts'
import { allStrategies, readVaultPages } from '../database/read/vault.ts'

/** Addresses that stand for all of a machine's, so that nobody can be sent there. */
const allAddresses: readonly string[] = ['0.0.0.0', '::']

/** What a newcomer can ask for first. */
export async function greeting(
  database: Database,
  port: number,
  { host, apiKeys }: Pick<Config, 'host' | 'apiKeys'>,
): Promise<string> {
  const base = `http://${hostName(host)}:${port}`
  const page = {
    filter: { status: null, strategy: null, owner: null },
    orderBy: 'VALUE_USD',
    direction: 'DESC',
  } as const
  const [vault] = await readVaultPages(database, [allStrategies], { ...page, first: 1, after: null })
  const address = vault?.address ?? ':address'
  const paths = [
    `/vault/${address}/snapshot`,
    `/vault/${address}/equity`,
    `/vault/${address}/events`,
    '/strategies',
    '/universe',
    '/universe/pairs',
  ]
  // The keys themselves are secrets, which have no place where this is printed.
  const curl = apiKeys.length === 0 ? 'curl -s' : "curl -s -H 'Authorization: Bearer YOUR_API_KEY'"
  return [`GraphiQL  ${base}/graphql`, ...paths.map((path) => `${curl} ${base}${path}`)].join('\n')
}

function hostName(host: string | null): string {
  if (host === null || allAddresses.includes(host)) return 'localhost'
  return isIPv6(host) ? `[${host}]` : host
}
