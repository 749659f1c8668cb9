import { readFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type ChainConfig, readChainConfig } from '../../chain/config.ts'
import { BadChainConfig } from '../../chain/errors.ts'
import { chainFeed, chainName } from '../../chain/feed.ts'
import type { Report } from '../../chain/rpc/rpc.ts'
import type { Database } from '../../database/database.ts'
import { type FeedPosition, readFeedPosition } from '../../database/write/feed.ts'
import type { FactInput } from '../../feed/fact/fact.ts'
import type { Source } from '../../feed/reading/source.ts'
import type { Log } from '../log.ts'

/** A parsed chain configuration file. */
export interface ChainFile {
  readonly file: string
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
  return { file, config: readChainConfig(file, text) }
}

/** Returns the secrets of a chain configuration for masking: the URLs of nodes often contain an API key. */
export function chainSecrets({ config }: ChainFile): string[] {
  return config.rpc.flatMap(({ url }) => [url, new URL(url).pathname.slice(1), new URL(url).search.slice(1)])
}

/** Opens a chain as the source of a feed, from its position in the database on, and follows it. */
export async function followedChain(
  database: Database,
  chain: ChainFile,
  log: Log,
  signal: AbortSignal,
): Promise<Source> {
  const open = (applied: FeedPosition | null): Source => {
    const feed = chainFeed({ ...chain, report: reportTo(log), signal, once: false }, applied)
    return { ...feed, reopen: (stored) => Promise.resolve(open(stored)) }
  }
  return open(await readFeedPosition(database.prisma, chainName(chain.config)))
}

/** Options of {@link runChain}. */
export interface ChainCommand {
  readonly chain: ChainFile
  /** Whether to follow the chain as it grows. */
  readonly follow: boolean
  readonly output: NodeJS.WritableStream
  readonly log: Log
  readonly signal: AbortSignal
}

/**
 * Writes the facts of a chain as JSON lines, up to its newest final block or as it grows.
 * @throws {ChainError} when a retry cannot help
 */
export async function runChain({ chain, follow, output, log, signal }: ChainCommand): Promise<void> {
  const { facts } = chainFeed({ ...chain, report: reportTo(log), signal, once: !follow }, null)
  try {
    await pipeline(toLines(facts), output, { end: false })
  } catch (error) {
    // The reader of a closed pipe, such as `head`, needs no more.
    if (!isClosedPipe(error)) throw error
  }
}

/** Serialises facts as JSON lines. */
async function* toLines(lists: AsyncIterable<readonly FactInput[]>): AsyncGenerator<string> {
  for await (const facts of lists) yield facts.map((fact) => `${JSON.stringify(fact)}\n`).join('')
}

function isClosedPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE'
}

function reportTo(log: Log): Report {
  return (level, message, facts) => log[level](message, facts)
}
