import { parseArgs } from 'node:util'

export const usage = `Usage:
  npm start                                   serves what the database holds
  npm start -- --feed FEED [--skip-bad]       serves, and follows a feed as it grows
  npm run ingest -- FEED [--skip-bad]         applies a feed: a file, plain or gzipped, or - for standard input

  --skip-bad  sets bad lines aside in FEED.rejects.ndjson, each with its reason, and goes on

Configuration comes from the environment: see the README.`

/** What the command line asks for. */
export type Command =
  | { readonly name: 'serve'; readonly feed: string | null; readonly skipBad: boolean }
  | { readonly name: 'ingest'; readonly feed: string; readonly skipBad: boolean }
  | { readonly name: 'help' }

/** A command line that asks for nothing there is. */
export class BadUsage extends Error {
  constructor(message: string) {
    super(`${message}\n\n${usage}`)
    this.name = 'BadUsage'
  }
}

/** @throws {BadUsage} */
export function readCommand(args: readonly string[]): Command {
  const { values, positionals } = parse(args)
  const [name, feed, ...more] = positionals
  const skipBad = values['skip-bad'] ?? false
  if (values.help === true) return { name: 'help' }
  if (name === 'serve' && feed === undefined) return { name, feed: values.feed ?? null, skipBad }
  if (name === 'ingest' && feed !== undefined && more.length === 0 && values.feed === undefined)
    return { name, feed, skipBad }
  throw new BadUsage(
    name === 'ingest' ? 'Name one feed.' : `There is nothing to do with ${positionals.slice(1).join(' ')}.`,
  )
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { feed: { type: 'string' }, 'skip-bad': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    })
  } catch (error) {
    throw new BadUsage((error as Error).message)
  }
}
