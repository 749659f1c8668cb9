import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { format, resolveConfig } from 'prettier'

const readme = path.resolve(import.meta.dirname, '../README.md')
const begin = '<!-- The results below are written by npm run bench -->'
const end = '<!-- End of the results -->'

/** Writes the results into the README of test/bench, and formats it. */
export async function writeResults(results: string): Promise<void> {
  const text = replaceResults(await readFile(readme, 'utf8'), results)
  await writeFile(readme, await format(text, { ...(await resolveConfig(readme)), filepath: readme }))
}

/**
 * Replaces the text between the two HTML comments of a README.
 * @throws {Error} if the comments are missing
 */
export function replaceResults(text: string, results: string): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`test/bench/README.md lacks ${begin} and ${end}`)
  return `${text.slice(0, from + begin.length)}\n\n${results}\n\n${text.slice(to)}`
}
