import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')
let folder: string
let generated: string

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'generate-'))
  generated = path.join(folder, 'src/database/prisma/generated')
  cpSync(path.join(root, 'prisma'), path.join(folder, 'prisma'), { recursive: true })
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  cpSync(path.join(root, 'package.json'), path.join(folder, 'package.json'))
  mkdirSync(path.join(generated, 'client'), { recursive: true })
  writeFileSync(path.join(generated, 'client/client.ts'), 'of the previous version')
  writeFileSync(path.join(generated, 'schema.sha256'), 'of the previous version')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('two concurrent processes generate files beside those of another schema, which remain until then', async () => {
  const generate = () => promisify(execFile)(process.execPath, [path.join(folder, 'prisma/generate.mjs')])
  const state = { isOver: false }
  const both = Promise.all([generate(), generate()]).finally(() => (state.isOver = true))
  let missing = 0
  for (; !state.isOver; await wait(20)) if (!existsSync(path.join(generated, 'client/client.ts'))) missing++
  await both
  // Between two renames there is none for a moment, and half a second where a process is held up there; to generate them
  // takes seconds.
  expect(missing).toBeLessThan(25)
  for (const name of ['client/client.ts', 'pothos.ts', 'schema.sha256']) {
    const own = readFileSync(path.join(root, 'src/database/prisma/generated', name), 'utf8')
    expect(readFileSync(path.join(generated, name), 'utf8')).toBe(own)
  }
})

test('old builds are removed, even if other processes remove some meanwhile', async () => {
  const compiler = path.join(root, 'src/compile.mjs')
  const { removeOld } = (await import(compiler)) as { removeOld: (folder: string) => void }
  const builds = path.join(folder, 'builds')
  // A dangling link is like a build that is removed after it was listed.
  mkdirSync(builds)
  symlinkSync(path.join(builds, 'removed'), path.join(builds, 'listed'))
  const names = ['new', 'old', 'oldest']
  for (const name of names) mkdirSync(path.join(builds, name))
  for (const name of names.slice(1)) utimesSync(path.join(builds, name), 0, 0)
  removeOld(builds)
  expect(names.filter((name) => existsSync(path.join(builds, name)))).toEqual(['new'])
})

test('each script that reads generated files generates them first', () => {
  const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const reading = Object.entries(scripts).filter(([, command]) => /\b(?:tsc|tsx|vitest)\b/.test(command))
  expect(reading.length).toBeGreaterThan(0)
  expect(reading.filter(([, command]) => !command.includes('prisma/generate.mjs'))).toEqual([])
})
