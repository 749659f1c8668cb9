import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const root = path.resolve(import.meta.dirname, '../..')

/** A fenced code block of a README. */
export interface Block {
  readonly readme: string
  readonly language: string
  readonly text: string
}

/** A table, as cells. */
export interface Table {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** A parsed README. */
export interface Readme {
  /** Path relative to the root. */
  readonly file: string
  readonly text: string
  readonly blocks: readonly Block[]
  /** The text without its code blocks. */
  readonly prose: string
}

/** All READMEs of the project; that of the root is the first one. */
export const readmes: readonly Readme[] = listFiles().map((file) => readReadme(file))

/** Returns the README of a folder. */
export function readmeOf(folder: string): Readme {
  const file = path.posix.join(folder, 'README.md')
  const readme = readmes.find((each) => each.file === file)
  if (readme === undefined) throw new Error(`${file} does not exist`)
  return readme
}

/** Returns the section under a heading, up to the next heading of the same level. */
export function sectionOf({ file, prose }: Readme, heading: string): string {
  const from = prose.indexOf(`\n${heading}\n`)
  if (from < 0) throw new Error(`${file} has no heading ${heading}`)
  const level = heading.slice(0, heading.indexOf(' ') + 1)
  const end = prose.indexOf(`\n${level}`, from + heading.length)
  return prose.slice(from, end < 0 ? undefined : end)
}

/** Returns the anchors of the headings, as GitHub generates them. */
export function anchorsOf({ prose }: Readme): string[] {
  return Array.from(prose.matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Returns the targets of all links. */
export function linksOf({ prose }: Readme): string[] {
  return Array.from(prose.matchAll(/\]\(([^)\s]+)\)/g), ([, address = '']) => address)
}

/** Returns the contents of all code spans. */
export function codeIn(text: string): string[] {
  return Array.from(text.matchAll(/`([^`]+)`/g), ([, code = '']) => code.replaceAll('\n', ' '))
}

/** Returns all tables of a text. */
export function tablesIn(text: string): Table[] {
  return Array.from(text.matchAll(/(?:^ *\|.*\|\n)+/gm), ([lines]) => {
    const [header = [], , ...rows] = lines.trimEnd().split('\n').map(cellsOf)
    return { header, rows }
  })
}

/** Returns the table of a README that begins with these columns. */
export function tableOf({ file, prose }: Readme, ...columns: string[]): Table {
  const table = tablesIn(prose).find(({ header }) => columns.every((column, index) => header[index] === column))
  if (table === undefined) throw new Error(`${file} has no table with the columns ${columns.join(', ')}`)
  return table
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim())
}

function listFiles(): string[] {
  const options = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '--', '*README.md']
  return execFileSync('git', options, { cwd: root })
    .toString()
    .split('\0')
    .filter((file) => file !== '')
    .sort((a, b) => a.split('/').length - b.split('/').length || a.localeCompare(b))
}

function readReadme(file: string): Readme {
  const text = readFileSync(path.join(root, file), 'utf8')
  const fence = /^```(\w*)\n(.*?)^```$/gms
  const blocks = Array.from(text.matchAll(fence), ([, language = '', block = '']) => ({
    readme: file,
    language,
    text: block,
  }))
  return { file, text, blocks, prose: text.replaceAll(fence, '') }
}
