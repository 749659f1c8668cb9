import { isIPv6 } from 'node:net'
import type { Config } from '../config.ts'
import type { Reader } from '../database/database.ts'
import { isOutage } from '../database/errors.ts'
import { allStrategies, readVaultPages } from '../database/read/vault.ts'

/** Addresses that stand for all of a machine's, so that nobody can be sent there. */
const allAddresses: readonly string[] = ['0.0.0.0', '::']

/** What a newcomer can ask for first. */
export async function startBanner(
  database: Reader,
  port: number,
  { host, apiKeys }: Pick<Config, 'host' | 'apiKeys'>,
): Promise<string> {
  const base = `http://${hostName(host)}:${port}`
  const address = (await someVault(database)) ?? ':address'
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

/** The address of a vault; none where the database doesn't answer now, for which a gateway that runs needn't end. */
async function someVault(database: Reader): Promise<string | undefined> {
  const page = {
    filter: { status: null, strategy: null, owner: null },
    orderBy: 'VALUE_USD',
    direction: 'DESC',
  } as const
  try {
    const [vault] = await readVaultPages(database, [allStrategies], { ...page, first: 1, after: null })
    return vault?.address
  } catch (error) {
    if (!isOutage(error)) throw error
    return undefined
  }
}

function hostName(host: string | null): string {
  if (host === null || allAddresses.includes(host)) return 'localhost'
  return isIPv6(host) ? `[${host}]` : host
}
