import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ingestCommand } from '../../src/cli/commands/ingest.ts'
import { RoundAbandoned, type Writer } from '../../src/feed/jobs/writer.ts'
import { emptyDatabase } from '../support/database.ts'
import { feedText } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { midnight, strategy } from '../support/world.ts'

const program = path.resolve(import.meta.dirname, '../../src/start.mjs')
const homes = prepareHomes()

/** Runs an ingest with this text as standard input, which sets bad lines aside in its working directory. */
function ingest(input: string, env: Readonly<Record<string, string>>): Promise<number | null> {
  const child = spawn(process.execPath, [program, 'ingest', '-', '--skip-bad'], {
    cwd: homes.folder,
    stdio: ['pipe', 'ignore', 'ignore'] as const,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  child.stdin.end(input)
  return new Promise((resolve) => child.once('close', resolve))
}

test('bad lines of standard input, which cannot be read again, are preserved by the next run', async () => {
  const { env } = await homes.create()
  const lines = ['{"kind":"first"}', '{"kind":"second"}']
  for (const line of lines) expect(await ingest(`${line}\n`, env)).toBe(1)
  const entries = (await readFile(path.join(homes.folder, 'stdin.rejects.ndjson'), 'utf8')).trimEnd().split('\n')
  expect(entries.map((entry) => (JSON.parse(entry) as { text: string }).text)).toEqual(lines)
})

test('chunks of standard input that arrive without a pause are applied in one batch', async () => {
  const database = await emptyDatabase()
  const bytes = Buffer.from(feedText(Array.from({ length: 50 }, (_, at) => strategy(`s-${at}`))))
  const chunks = Array.from({ length: Math.ceil(bytes.length / 100) }, (_, at) =>
    bytes.subarray(100 * at, 100 * at + 100),
  )
  const status = await ingestCommand({
    database,
    feed: '-',
    skipBad: false,
    input: Readable.from(chunks),
    signal: new AbortController().signal,
    output: Object.assign(new PassThrough(), { isTTY: false }) as unknown as NodeJS.WriteStream,
    nowSeconds: () => midnight,
  })
  expect(status).toBe(0)
  expect(await database.prisma.strategy.count()).toBe(50)
  expect(await database.prisma.commitLog.count()).toBe(1)
})

test('a stop before the end of gzipped standard input does not count as damage', async () => {
  const stopping = new AbortController()
  const input = new PassThrough()
  const output = Object.assign(new PassThrough(), { isTTY: false })
  const running = ingestCommand({
    database: await emptyDatabase(),
    feed: '-',
    skipBad: false,
    input,
    signal: stopping.signal,
    output: output as unknown as NodeJS.WriteStream,
    nowSeconds: () => midnight,
  })
  const bytes = gzipSync(feedText([strategy('one')]))
  input.write(bytes.subarray(0, bytes.length / 2))
  await setImmediate()
  stopping.abort()
  expect(await running).toBe(1)
  expect(String(output.read())).toContain('Stopped before the end of the feed')
})

test('a stop after the end of a feed, while its writers close, leaves it complete', async () => {
  const stopping = new AbortController()
  const writer: Writer = {
    apply: () => Promise.reject(new RoundAbandoned('it applies nothing')),
    close: () => Promise.resolve(stopping.abort()),
  }
  const status = await ingestCommand({
    database: await emptyDatabase(),
    feed: '-',
    skipBad: false,
    input: Readable.from([Buffer.from(feedText([strategy('one')]))]),
    signal: stopping.signal,
    output: Object.assign(new PassThrough(), { isTTY: false }) as unknown as NodeJS.WriteStream,
    nowSeconds: () => midnight,
    startWriters: () => Promise.resolve([writer]),
  })
  expect(status).toBe(0)
})
