import { readFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type ChainConfig, readChainConfig } from '../../chain/config.ts'
import { BadChainConfig, VaultsLeftOut } from '../../chain/errors.ts'
import { chainFeed, chainName } from '../../chain/feed.ts'
import type { SetAsideVault } from '../../chain/vault-groups/set-aside.ts'
import type { Report } from '../../chain/rpc/fault-watch.ts'
import type { RpcRetryOptions } from '../../chain/rpc/rpc.ts'
import { secretsOfUrl } from '../../chain/rpc/url-secrets.ts'
import { type Address, toAddress } from '../../domain/address.ts'
import type { Database } from '../../database/database.ts'
import { type FeedPosition, inChain, readFeedPosition } from '../../database/write/feed.ts'
import type { FactInput } from '../../feed/fact/fact.ts'
import type { FactSource } from '../../feed/reading/source.ts'
import type { Log } from '../log.ts'

/** A parsed chain configuration file. */
export interface ChainFile {
  readonly file: string
  /** Name of its feed. */
  readonly name: string
  readonly config: ChainConfig
}

/**
 * Reads a chain configuration file.
 * @throws {BadChainConfig} with every problem
 */
export async function readChainFile(file: string): Promise<ChainFile> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new BadChainConfig(file, [`can't be read: ${(error as Error).message}`])
  }
  const config = readChainConfig(file, text)
  return { file, name: chainName(config), config }
}

/**
 * Requires that no two files contain the same vault, since all interfaces identify a vault by its address alone.
 * @throws {BadChainConfig} with every vault that an earlier file contains
 */
export function requireDistinctVaults(chains: readonly ChainFile[]): void {
  const known = new Map<string, ChainFile>()
  for (const chain of chains) {
    const problems = chain.config.vaults.flatMap(({ address }, index) => {
      const other = known.get(address)
      if (other === undefined) return []
      const places = `${other.file} (chain ${other.config.chainId}) and here (chain ${chain.config.chainId})`
      return [`vaults[${index}].address ${address} is in ${places}: a vault is known by its address alone`]
    })
    if (problems.length > 0) throw new BadChainConfig(chain.file, problems)
    for (const { address } of chain.config.vaults) known.set(address, chain)
  }
}

/** Returns the secrets of a chain configuration for masking: the URLs of nodes often contain an API key. */
export function chainSecrets({ config }: ChainFile): string[] {
  return config.rpc.flatMap(({ url }) => secretsOfUrl(url))
}

/** Options of {@link followedChain}. */
export interface FollowedChain {
  readonly database: Database
  readonly chain: ChainFile
  readonly log: Log
  readonly signal: AbortSignal
  /** Called with the name of the feed, and the problem when a fault of its nodes lasts; null when it has ended. */
  readonly onLastingFault: (feed: string, problem: string | null) => void
  /** Called with the name of the feed, and all its vaults that are set aside. */
  readonly onSetAside?: (feed: string, vaults: readonly SetAsideVault[]) => void
}

/** Opens a chain as the source of a feed, from its position in the database on, and follows it. */
export async function followedChain(followed: FollowedChain): Promise<FactSource> {
  const { database, chain, log, signal } = followed
  const { name } = chain
  const options = {
    ...chain,
    report: reportTo(log),
    signal,
    once: false,
    onLastingFault: (problem: string | null) => followed.onLastingFault(name, problem),
    onSetAside: (vaults: readonly SetAsideVault[]) => followed.onSetAside?.(name, vaults),
  }
  const refused = new Map<Address, string>()
  const open = (applied: FeedPosition | null): FactSource => ({
    ...chainFeed({ ...options, refused }, inChain(applied)),
    reopen: (stored) => Promise.resolve(open(stored)),
    async reopenWithout(vault, reason) {
      refused.set(toAddress(vault), reason)
      return open(await readFeedPosition(database.prisma, name))
    },
  })
  return open(await readFeedPosition(database.prisma, name))
}

/** Options of {@link runChain}. */
export interface ChainCommand {
  readonly chain: ChainFile
  /** Whether to follow the chain as it grows. */
  readonly follow: boolean
  readonly output: NodeJS.WritableStream
  readonly log: Log
  readonly signal: AbortSignal
  readonly retry?: RpcRetryOptions
}

/**
 * Writes the facts of a chain as JSON lines, up to its newest final block or as it grows.
 * @throws {ChainError} when a retry cannot help
 * @throws an AbortError on abort before the newest final block, unless the chain is followed
 * @throws {VaultsLeftOut} after the end, where vaults were set aside
 */
export async function runChain(command: ChainCommand): Promise<void> {
  const { chain, follow, output, log, signal, retry } = command
  let aside: readonly SetAsideVault[] = []
  const onSetAside = (vaults: readonly SetAsideVault[]): void => void (aside = vaults)
  const options = { ...chain, report: reportTo(log), signal, once: !follow, onSetAside, ...(retry && { retry }) }
  const { facts } = chainFeed(options, null)
  try {
    await pipeline(toLines(facts), output, { end: false })
  } catch (error) {
    // The reader of the pipe, such as `head`, has closed it and needs no more lines.
    if (!isClosedPipe(error)) throw error
  }
  if (aside.length > 0) throw new VaultsLeftOut(aside.map(({ reason }) => reason))
}

/** Serialises facts as JSON lines. */
async function* toLines(lists: AsyncIterable<readonly FactInput[]>): AsyncGenerator<string> {
  for await (const facts of lists) yield facts.map((fact) => `${JSON.stringify(fact)}\n`).join('')
}

function isClosedPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE'
}

/** Reports events of a chain to the log. */
export function reportTo(log: Log): Report {
  return (level, message, facts) => log[level](message, facts)
}
