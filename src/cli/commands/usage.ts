import { parseArgs } from 'node:util'

export const usage = `Usage:
  npm start                                   serves what the database holds
  npm start -- --feed FEED [--skip-bad]       serves, and follows a feed as it grows
  npm start -- --chain FILE [--skip-bad]      serves, and follows the vaults of a chain; one --chain for each chain
  npm run ingest -- FEED [--jobs N] [--skip-bad]
                                              applies a feed: a file, plain or gzipped, or - for standard input
  npm run migrate                             applies the migrations that are missing, and ends
  npm run -s chain -- FILE [--follow]         writes the facts of a chain's vaults, up to its newest final block
  npm run -s chain -- check FILE              says how each vault of a chain is read, and what is missing

  --follow    goes on as the chain grows
  --jobs N    applies a feed by N writers side by side, on PostgreSQL: as many as it has cores for
  --skip-bad  sets bad lines aside in FEED.rejects.ndjson, each with its reason, and goes on

Configuration comes from the environment: see src/cli/README.md.`

/** A parsed command line. */
export type Command =
  | {
      readonly name: 'serve'
      readonly feed: string | null
      /** Files of chains, at least one; null for none. */
      readonly chain: readonly string[] | null
      readonly skipBad: boolean
    }
  | { readonly name: 'ingest'; readonly feed: string; readonly skipBad: boolean; readonly jobs: number }
  | { readonly name: 'migrate' }
  | { readonly name: 'chain'; readonly file: string; readonly follow: boolean }
  | { readonly name: 'chain check'; readonly file: string }
  | { readonly name: 'help' }

/** An invalid command line. */
export class BadUsage extends Error {
  constructor(message: string) {
    super(`${message}\n\n${usage}`)
    this.name = 'BadUsage'
  }
}

/**
 * Parses the command line.
 * @throws {BadUsage} when the command line is invalid
 */
export function readCommand(args: readonly string[]): Command {
  const { values, positionals } = parse(args)
  const [name, file, ...more] = positionals
  const skipBad = values['skip-bad'] ?? false
  if (values.help === true) return { name: 'help' }
  const { feed = null, chain = null, follow = false } = values
  const jobs = readJobs(values.jobs)
  if (name !== 'ingest' && values.jobs !== undefined) throw new BadUsage('--jobs is for ingest.')
  if (name === 'serve' && file === undefined && !follow) return { name, feed, chain, skipBad }
  if (name === 'migrate' && args.length === 1) return { name }
  const isOneFile = file !== undefined && more.length === 0 && feed === null && chain === null
  if (name === 'ingest' && isOneFile && !follow) return { name, feed: file, skipBad, jobs }
  if (name === 'chain' && isOneFile && !skipBad) return { name, file, follow }
  const [checked] = more
  const isCheck = name === 'chain' && file === 'check' && more.length === 1 && feed === null && chain === null
  if (isCheck && checked !== undefined && !skipBad && !follow) return { name: 'chain check', file: checked }
  throw new BadUsage(usageProblem(name, positionals.slice(1)))
}

const maxJobs = 64

function readJobs(text = '1'): number {
  const jobs = Number(text)
  if (/^\d+$/.test(text) && jobs >= 1 && jobs <= maxJobs) return jobs
  throw new BadUsage(`--jobs is ${JSON.stringify(text)}, not a number from 1 to ${maxJobs}.`)
}

function usageProblem(name: string | undefined, rest: readonly string[]): string {
  if (name === 'ingest') return 'Name one feed.'
  if (name === 'chain') return 'Name one chain.json.'
  if (name === 'migrate') return 'migrate takes no options.'
  return `There is nothing to do with ${rest.join(' ')}.`
}

function parse(args: readonly string[]) {
  const parsed = parseTokens(args)
  const options = parsed.tokens.flatMap((token) =>
    token.kind === 'option' && token.name !== 'chain' ? [token.rawName] : [],
  )
  const { chain: files = [] } = parsed.values
  const isFileAgain = files.some((file, at) => files.indexOf(file) < at)
  const again = isFileAgain ? '--chain' : options.find((name, at) => options.indexOf(name) < at)
  if (again !== undefined) throw new BadUsage(`${again} is given more than once.`)
  return parsed
}

function parseTokens(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      tokens: true,
      allowPositionals: true,
      options: {
        feed: { type: 'string' },
        chain: { type: 'string', multiple: true },
        follow: { type: 'boolean' },
        'skip-bad': { type: 'boolean' },
        jobs: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    throw new BadUsage((error as Error).message)
  }
}
