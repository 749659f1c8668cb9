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

/** The options of each command. */
const optionsOf: Readonly<Record<Exclude<Command['name'], 'help'>, readonly string[]>> = {
  serve: ['feed', 'chain', 'skip-bad'],
  ingest: ['skip-bad', 'jobs'],
  migrate: [],
  chain: ['follow'],
  'chain check': [],
}

/**
 * Parses the command line.
 * @throws {BadUsage} when the command line is invalid
 */
export function readCommand(args: readonly string[]): Command {
  const { values, positionals } = parse(args)
  if (values.help === true) return { name: 'help' }
  if ([...positionals, ...Object.values(values).flat()].includes(''))
    throw new BadUsage('An argument is empty, as that of a variable that is not set.')
  const { feed = null, chain = null, follow = false, 'skip-bad': skipBad = false } = values
  const [command, file, ...more] = positionals
  const [checked] = more
  const name = command === 'chain' && file === 'check' && checked !== undefined ? 'chain check' : command
  requireOptionsOf(name, Object.keys(values))
  if (name === 'serve' && skipBad && feed === null && chain === null)
    throw new BadUsage('--skip-bad is for a feed or a chain: name one by --feed or --chain.')
  const jobs = readJobs(values.jobs)
  const isOneFile = file !== undefined && more.length === 0
  if (name === 'serve' && file === undefined) return { name, feed, chain, skipBad }
  if (name === 'migrate' && file === undefined) return { name }
  if (name === 'ingest' && isOneFile) return { name, feed: file, skipBad, jobs }
  if (name === 'chain' && isOneFile) return { name, file, follow }
  if (name === 'chain check' && checked !== undefined && more.length === 1) return { name, file: checked }
  throw new BadUsage(usageProblem(name, positionals))
}

function requireOptionsOf(name: string | undefined, given: readonly string[]): void {
  const options = Object.entries(optionsOf).find(([command]) => command === name)?.[1] ?? given
  const other = given.find((option) => !options.includes(option))
  if (other !== undefined) throw new BadUsage(`--${other} is not for ${name === 'serve' ? 'npm start' : name}.`)
}

const maxJobs = 64

function readJobs(text = '1'): number {
  const jobs = Number(text)
  if (/^\d+$/.test(text) && jobs >= 1 && jobs <= maxJobs) return jobs
  throw new BadUsage(`--jobs is ${JSON.stringify(text)}, not a number from 1 to ${maxJobs}.`)
}

function usageProblem(name: string | undefined, [command = '', ...rest]: readonly string[]): string {
  if (name === 'ingest') return 'Name one feed.'
  if (name === 'chain' || name === 'chain check') return 'Name one chain.json.'
  if (name === 'migrate') return 'migrate takes no options.'
  return `There is nothing to do with ${(name === 'serve' ? rest : [command, ...rest]).join(' ')}.`
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
