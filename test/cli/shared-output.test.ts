import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setInterval, setTimeout as wait } from 'node:timers/promises'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLog } from '../../src/cli/log.ts'
import { sharedOutput } from '../../src/cli/shared-output.ts'

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'output-'))
})
afterAll(() => rm(folder, { recursive: true }))

interface Logged {
  readonly worker: number
  readonly at: number
  readonly text: string
}

const source = path.resolve(import.meta.dirname, '../../src/cli')
const lines = 400
const lengthOf = (at: number): number => (at * 131) % 2_500

/** Compiles a program that logs lines as the worker of its first argument. */
async function compileWriter(): Promise<string> {
  const outfile = path.join(folder, 'writer.cjs')
  const contents = `
    import { createLog } from './log.ts'
    import { sharedOutput } from './shared-output.ts'
    const worker = Number(process.argv[2])
    const log = createLog({ level: 'info', secrets: [], worker, output: sharedOutput(process.stderr) })
    process.once('exit', () => log.flush())
    for (let at = 0; at < ${lines}; at++) log.warn('é', { at, text: 'x'.repeat((${String(lengthOf)})(at)) })`
  await build({ stdin: { contents, resolveDir: source }, outfile, bundle: true, platform: 'node', logLevel: 'error' })
  return outfile
}

test('lines that wait for a hanging reader are limited, and the number of dropped ones is logged', () => {
  const taken: Buffer[] = []
  let onWritten: (() => void) | undefined
  let writableLength = 0
  const stream = {
    destroyed: false,
    get writableLength() {
      return writableLength
    },
    write(bytes: Buffer, callback?: () => void) {
      taken.push(bytes)
      writableLength = bytes.length
      onWritten = callback
    },
  }
  const output = sharedOutput(stream)
  const log = createLog({ level: 'info', secrets: [], output })
  const text = 'x'.repeat(100_000)
  for (let at = 0; at < 300; at++) log.info(text)
  expect(output.writableLength).toBeGreaterThan(16e6)
  expect(output.writableLength).toBeLessThan(17e6)
  while (writableLength > 0) {
    writableLength = 0
    onWritten?.()
  }
  expect(taken.length).toBeLessThan(200)
  const before = taken.length
  log.info('one more')
  log.flush()
  const [more, warning] = Buffer.concat(taken.slice(before)).toString().split('\n')
  expect(JSON.parse(more ?? '')).toMatchObject({ msg: 'one more' })
  expect(JSON.parse(warning ?? '')).toMatchObject({ level: 'warn', lines: 300 - before })
})

test.skipIf(process.platform !== 'linux')(
  'lines of several processes stay whole where their pipe is full',
  async () => {
    const program = await compileWriter()
    const pipe = path.join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
    const end = openSync(pipe, constants.O_WRONLY)
    const ended = [1, 2, 3].map((worker) => {
      const child = spawn(process.execPath, [program, String(worker)], { stdio: ['ignore', 'ignore', end] })
      return new Promise((resolve) => child.once('close', resolve))
    })
    closeSync(end)
    // It writes until the pipe is full.
    await wait(500)
    const chunks: Buffer[] = []
    const chunk = Buffer.alloc(3_000)
    for await (const _ of setInterval(1)) {
      const bytesRead = readChunk(reader, chunk)
      if (bytesRead === 0) break
      chunks.push(Buffer.from(chunk.subarray(0, bytesRead ?? 0)))
    }
    closeSync(reader)
    expect(await Promise.all(ended)).toEqual([0, 0, 0])
    const written = Buffer.concat(chunks)
      .toString()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Logged)
    for (const worker of [1, 2, 3]) {
      const own = written.filter((line) => line.worker === worker)
      expect(own.map(({ at, text }) => [at, text.length])).toEqual(
        Array.from({ length: lines }, (_, at) => [at, lengthOf(at)]),
      )
    }
  },
)

/** Reads the available bytes of a pipe; returns null if it is empty, and 0 at its end. */
function readChunk(reader: number, chunk: Buffer): number | null {
  try {
    return readSync(reader, chunk)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    return null
  }
}

test('all lines are written before the process ends, and none is kept for a closed stream', () => {
  const written: string[] = []
  const stream = { destroyed: false, writableLength: 1, write: (bytes: Buffer) => void written.push(bytes.toString()) }
  const output = sharedOutput(stream)
  const [short, long] = [`${'s'.repeat(3_000)}\n`, `${'l'.repeat(9_000)}\n`]
  output.write(short + short)
  output.write(long + short)
  expect(written).toEqual([])
  output.flush?.()
  expect(written).toEqual([short, short, long, short])
  output.write('kept\n')
  stream.destroyed = true
  output.write('kept\n')
  output.flush?.()
  expect(written).toHaveLength(4)
})
