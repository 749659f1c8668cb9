import { readFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { type ChainConfig, readChainConfig } from '../../chain/config.ts'
import { BadChainConfig } from '../../chain/errors.ts'
import { chainFeed, chainName } from '../../chain/feed.ts'
import type { Report } from '../../chain/rpc/rpc.ts'
import type { Database } from '../../database/database.ts'
import { type FeedPosition, readFeedPosition } from '../../database/write/feed.ts'
import type { Source } from '../../feed/reading/source.ts'
import type { Log } from '../log.ts'

/** A chain.json that was read. */
export interface ChainFile {
  readonly file: string
  readonly config: ChainConfig
}

/** @throws {BadChainConfig} naming every problem */
export async function readChainFile(file: string): Promise<ChainFile> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new BadChainConfig(file, [`can't be read: ${(error as Error).message}`])
  }
  return { file, config: readChainConfig(file, text) }
}

/** The addresses of nodes: they often hold a key, and so must not be logged. */
export function chainSecrets({ config }: ChainFile): string[] {
  return config.rpc.flatMap(({ url }) => [url, new URL(url).pathname.slice(1), new URL(url).search.slice(1)])
}

/** A chain, from where a database has it, and on as it grows. */
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

export interface ChainCommand {
  readonly chain: ChainFile
  /** Goes on as the chain grows. */
  readonly follow: boolean
  readonly output: NodeJS.WritableStream
  readonly log: Log
  readonly signal: AbortSignal
}

/** Writes the facts of a chain, up to its newest final block or on as it grows; as far as they are read. */
export async function runChain({ chain, follow, output, log, signal }: ChainCommand): Promise<void> {
  const { chunks } = chainFeed({ ...chain, report: reportTo(log), signal, once: !follow }, null)
  try {
    await pipeline(chunks, output, { end: false })
  } catch (error) {
    // Who reads no more, as `head` does, has what they wanted.
    if (!isClosedPipe(error)) throw error
  }
}

function isClosedPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE'
}

function reportTo(log: Log): Report {
  return (level, message, facts) => log[level](message, facts)
}
