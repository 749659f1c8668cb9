import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { codeIn, readmeOf, root, sectionOf, tableOf } from './readmes.ts'

/** Output of a program: files of src/ whose functions were called. */
interface Run {
  readonly ran: readonly string[]
  /** Files whose functions are also called without a request. */
  readonly idle: readonly string[]
}

/** The programs compile src/ and migrate a database, which takes seconds, and many on a busy machine. */
const maxMilliseconds = 180_000

describe.each([
  { walk: 'fact', program: 'readme-fact-run.ts', otherFile: 'feed/reading/rotation/rotated-files.ts' },
  { walk: 'request', program: 'readme-request-run.ts', otherFile: 'http/graphql/graphiql-assets.ts' },
])("the walk of a $walk, in the source's README", ({ walk, program, otherFile }) => {
  const section = sectionOf(readmeOf('src'), `## The walk of a ${walk}`)
  const steps = section.slice(section.indexOf('\n1. '), section.indexOf('<!--'))
  const files = codeIn(steps).filter((name) => name.endsWith('.ts'))
  const folders = codeIn(steps).filter((name) => name.endsWith('/'))
  let run: Run = { ran: [], idle: [] }

  beforeAll(async () => {
    const args = ['--import', 'tsx', path.join(import.meta.dirname, program)]
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root })
    run = JSON.parse(stdout) as Run
  }, maxMilliseconds)

  test('names files that run', () => {
    expect(files.length).toBeGreaterThan(30)
    expect(files.filter((file) => !run.ran.includes(file))).toEqual([])
    expect(folders.filter((folder) => !run.ran.some((file) => file.startsWith(folder)))).toEqual([])
  })

  test('names each file that runs, or the folder of it', () => {
    const isNamed = (file: string): boolean => files.includes(file) || folders.some((folder) => file.startsWith(folder))
    expect(run.ran.filter((file) => !isNamed(file) && !run.idle.includes(file))).toEqual([])
  })

  test('does not run a file of another feature', () => {
    expect(run.ran).not.toContain(otherFile)
  })
})

test("the walk of a request names the app's stages in their order", async () => {
  const app = await readFile(path.join(root, 'src/http/app.ts'), 'utf8')
  const [, list = ''] = /const stages = \[\n(.*?)\n {2}\]/s.exec(app) ?? []
  const stages = Array.from(list.matchAll(/^ {4}([\w.]+)[(,]/gm), ([, name]) => name)
  expect(stages.length).toBeGreaterThan(5)
  const table = tableOf(readmeOf('src'), 'stage', 'answers, or passes on')
  expect(table.rows.map(([stage = '']) => codeIn(stage)[0])).toEqual(stages)
})
