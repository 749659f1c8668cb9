import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'

const program = path.resolve(import.meta.dirname, '../../src/start.mjs')
const homes = prepareHomes()

/** Gives a text to an ingest of standard input, which sets bad lines aside in its working directory. */
function ingest(input: string, env: Readonly<Record<string, string>>): Promise<number | null> {
  const child = spawn(process.execPath, [program, 'ingest', '-', '--skip-bad'], {
    ...{ cwd: homes.folder, stdio: ['pipe', 'ignore', 'ignore'] as const },
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  child.stdin.end(input)
  return new Promise((resolve) => child.once('close', resolve))
}

test('bad lines of standard input, which cannot be read again, are kept by the next run', async () => {
  const { env } = await homes.create()
  const lines = ['{"kind":"first"}', '{"kind":"second"}']
  for (const line of lines) expect(await ingest(`${line}\n`, env)).toBe(1)
  const entries = (await readFile(path.join(homes.folder, 'stdin.rejects.ndjson'), 'utf8')).trimEnd().split('\n')
  expect(entries.map((entry) => (JSON.parse(entry) as { text: string }).text)).toEqual(lines)
})
