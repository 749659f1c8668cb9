import { isIPv6 } from 'node:net'
import type { Config } from '../config.ts'
import type { Reader } from '../database/database.ts'
import { sqlStateOf } from '../database/driver-errors.ts'
import { DatabaseRefused, isOutage, ReadCancelled } from '../database/errors.ts'
import { allStrategies, anyVault } from '../database/read/vault-lists/filter.ts'
import { readVaultPages } from '../database/read/vault-lists/page.ts'

/** Wildcard addresses, which no client can connect to. */
const allAddresses: readonly string[] = ['0.0.0.0', '::']

/** Time limit for the read of a vault's address: the banner goes on without it. */
const addressSeconds = 10

/**
 * Returns the text that is printed at the start: the addresses of the explorer and of GraphiQL, and a curl command for
 * each path, with the address of an existing vault. Without vaults, their paths are only listed.
 * @param signal gives up the read of that address, which has a time limit too
 */
export async function startBanner(
  database: Reader,
  port: number,
  { host, apiKeys, explorer }: Pick<Config, 'host' | 'apiKeys' | 'explorer'>,
  signal?: AbortSignal,
): Promise<string> {
  const base = `http://${hostName(host)}:${port}`
  const signals = [AbortSignal.timeout(addressSeconds * 1000), ...(signal === undefined ? [] : [signal])]
  const limit = AbortSignal.any(signals)
  const address = await anyVaultAddress({ query: (read, values) => database.query(read, values, limit) })
  const vaultPaths = ['snapshot', 'equity', 'events'].map((name) => `/vault/${address ?? 'ADDRESS'}/${name}`)
  const paths = [...(address === undefined ? [] : vaultPaths), '/strategies', '/universe', '/universe/pairs']
  // API keys are secrets and must not be printed.
  const curl = apiKeys.length === 0 ? 'curl -s' : "curl -s -H 'Authorization: Bearer YOUR_API_KEY'"
  const pages = [...(explorer ? [`Explorer  ${base}/`] : []), `GraphiQL  ${base}/graphql`]
  const lines = [...pages, ...paths.map((path) => `${curl} ${base}${path}`)]
  if (address === undefined) lines.push(`No vault is known yet. Once one is: ${vaultPaths.join(', ')}`)
  return lines.join('\n')
}

/** Returns the address of a vault; undefined where there is none, or the database does not answer or refuses: /ready says why. */
async function anyVaultAddress(database: Reader): Promise<string | undefined> {
  const page = {
    filter: anyVault,
    orderBy: 'VALUE_USD',
    direction: 'DESC',
  } as const
  try {
    const [vault] = await readVaultPages(database, [allStrategies], { ...page, first: 1, after: null })
    return vault?.address
  } catch (error) {
    if (!canRecover(error)) throw error
    return undefined
  }
}

/**
 * Returns whether the gateway may serve later without a restart: not where the tables lack a part, nor after an error of its own.
 * The server may cancel a read that waits for a lock.
 */
function canRecover(error: unknown): boolean {
  if (isOutage(error) || error instanceof ReadCancelled) return true
  const isRefused = error instanceof DatabaseRefused
  const state = sqlStateOf(isRefused ? error.cause : error)
  if (state === undefined) return isRefused
  return state === permissionDenied || !state.startsWith(unknownObjects)
}

/** SQLSTATE of missing grants, which is in the class of those of unknown tables and columns. */
const permissionDenied = '42501'
const unknownObjects = '42'

function hostName(host: string | null): string {
  if (host === null || allAddresses.includes(host)) return 'localhost'
  return isIPv6(host) ? `[${host}]` : host
}
