import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProcess } from '../support/process.ts'

const root = path.resolve(import.meta.dirname, '../..')
/** Folders that the commands need; the folder of the tests' chain node is a dependency. */
const copied = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  'prisma',
  'src',
  'node_modules',
  'test/chain/support/node',
]
/** Packages and scopes that only code generation, compilation and tests need, of some megabytes each. */
const unneeded = ['@esbuild', '@foundry-rs', '@prisma/engines', 'playwright-core', 'prisma', 'typescript', 'vitest']

const inFolder = promisify(execFile)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'pruned-'))
  // By one process: Node would need several times the CPU time to copy these many small files.
  await inFolder('cp', ['-a', '--parents', ...copied, folder], { cwd: root })
  await rm(path.join(folder, 'src/database/prisma/generated'), { recursive: true, force: true })
  const env = { ...process.env, npm_config_offline: 'true', npm_config_audit: 'false' }
  await inFolder('npm', ['run', 'prune'], { cwd: folder, env })
}, 240_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

test('a pruned installation has no packages for code generation, compilation and tests', async () => {
  const modules = path.join(folder, 'node_modules')
  const filesOf = (name: string): Promise<string[]> => readdir(path.join(modules, name)).catch(() => [])
  expect(await Promise.all(unneeded.map(filesOf))).toEqual(unneeded.map(() => []))
  const { stdout } = await inFolder('du', ['-sk', modules])
  const megabytes = (Number.parseInt(stdout) * 1024) / 1e6
  const [, documented = ''] =
    /(\d+) MB after `npm run prune`/.exec(await readFile(path.join(root, 'src/cli/README.md'), 'utf8')) ?? []
  expect(megabytes / Number(documented)).toBeGreaterThan(0.9)
  expect(megabytes / Number(documented)).toBeLessThan(1.1)
})

test('a pruned installation serves the same as a full one, and ingests facts', { timeout: 120_000 }, async () => {
  // As in a copy of it, without the times of its files.
  await inFolder('find', ['src', 'prisma', '-exec', 'touch', '{}', '+'], { cwd: folder })
  await inFolder('touch', ['-d', '1 hour', 'prisma/schema.prisma'], { cwd: folder })
  const env = { DATA_DIR: path.join(folder, '.data'), PORT: '0', LOG_LEVEL: 'warn' }
  const gateway = startProcess(['serve'], env, undefined, folder)
  try {
    const [, port] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
    const get = async (target: string, accept = '*/*'): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${port ?? ''}${target}`, { headers: { accept } })
      expect(answer.status, target).toBe(200)
      return answer.text()
    }
    expect(await get('/graphql?query={strategies{id}}')).toContain('"eth-core"')
    for (const page of ['/', '/graphql', '/docs']) {
      const scripts = [...(await get(page, 'text/html')).matchAll(/<script[^>]* src="([^"]+)"/g)]
      for (const [, script = ''] of scripts) await get(new URL(script, `http://x${page}`).pathname)
    }
    for (const path of ['/ready', '/metrics', '/openapi.json', '/strategies', '/universe']) await get(path)
  } finally {
    gateway.kill('SIGTERM')
    expect(await gateway.ended).toMatchObject({ status: 0, stderr: '' })
  }
  const migrated = startProcess(['migrate'], env, undefined, folder)
  expect((await migrated.ended).status).toBe(0)
  const ingest = startProcess(['ingest', '-'], env, undefined, folder)
  ingest.input.end('')
  expect((await ingest.ended).status).toBe(0)
})
