import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { format, resolveConfig } from 'prettier'

const readme = path.resolve(import.meta.dirname, '../README.md')
const begin = '<!-- The figures below are written by npm run bench -->'
const end = '<!-- End of the figures -->'

/** Puts the figures between the marks of the benchmarks' README. */
export async function writeSection(figures: string): Promise<void> {
  const text = withSection(await readFile(readme, 'utf8'), figures)
  await writeFile(readme, await format(text, { ...(await resolveConfig(readme)), filepath: readme }))
}

/** @throws where the marks are missing */
export function withSection(text: string, figures: string): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`test/bench/README.md has no marks for the figures: ${begin} and ${end}`)
  return `${text.slice(0, from + begin.length)}\n\n${figures}\n\n${text.slice(to)}`
}
