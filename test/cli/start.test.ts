import { execFile, spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { type Home, prepareHomes } from '../support/home.ts'
import { midnight } from '../support/world.ts'

/* The commands of package.json, with their flags, on the version of Node that runs the tests. */

const root = path.resolve(import.meta.dirname, '../..')
const homes = prepareHomes()
const { scripts } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<'start' | 'ingest', string>>
}

interface Command {
  readonly said: () => string
  readonly ended: Promise<number | null>
  readonly kill: (signal: NodeJS.Signals) => void
}

const running = new Set<Command>()
afterEach(async () => {
  for (const { kill } of running) kill('SIGKILL')
  await Promise.all(Array.from(running, ({ ended }) => ended))
})

function begin(script: keyof typeof scripts, { env }: Home, args: readonly string[] = []): Command {
  const [program, ...given] = scripts[script].split(' ')
  expect(program).toBe('node')
  const child = spawn(process.execPath, [...given, ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', PORT: '0', HOST: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (words: string) => (output += words))
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const command = { said: () => output, ended, kill: (signal: NodeJS.Signals) => void child.kill(signal) }
  running.add(command)
  void ended.then(() => running.delete(command))
  return command
}

/** V8 prints unknown flags and continues; Node warns of deprecated features. */
const complaints = /bad option|flag|warning|deprecat|experimental/i

test.each(['start', 'ingest'] as const)(
  'the flags of npm run %s apply: set at run time, this one would not',
  async (script) => {
    const [, flag = '', megabytes = ''] = /(--max-semi-space-size=)(\d+) /.exec(scripts[script]) ?? []
    /** With the young generation, in MB. */
    const heapLimit = async (semiSpace: number): Promise<number> => {
      const args = [`${flag}${semiSpace}`, '-p', 'v8.getHeapStatistics().heap_size_limit / 1024 ** 2']
      return Number((await promisify(execFile)(process.execPath, args)).stdout)
    }
    expect(Number(megabytes)).toBeGreaterThan(1)
    expect((await heapLimit(Number(megabytes))) - (await heapLimit(1))).toBeGreaterThanOrEqual(
      2 * (Number(megabytes) - 1),
    )
  },
)

test(`npm start serves the demo world on Node ${process.version}, and stops with status 0`, async () => {
  const gateway = begin('start', await homes.create())
  await expect.poll(gateway.said, { timeout: 50_000 }).toMatch(/GraphiQL {2}http:\/\/127\.0\.0\.1:\d+\//)
  const [, origin = ''] = /GraphiQL {2}(http:\S+)\/graphql/.exec(gateway.said()) ?? []
  const [, snapshot = ''] = /(http:\S+\/snapshot)/.exec(gateway.said()) ?? []

  expect(await (await fetch(`${origin}/health`)).json()).toEqual({ status: 'alive' })
  const { vault, netUsd } = (await (await fetch(snapshot)).json()) as { vault: string; netUsd: number }
  expect(snapshot).toContain(vault)
  const query = `{ vault(address: "${vault}") { netUsd equity(points: 100) { ts } } }`
  const headers = { 'content-type': 'application/json', 'accept-encoding': 'br' }
  const answer = await fetch(`${origin}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  expect(answer.headers.get('content-encoding')).toBe('br')
  expect(await answer.json()).toMatchObject({ data: { vault: { netUsd, equity: expect.any(Array) } } })
  expect((await fetch(`${origin}/graphql/graphiql.js`)).status).toBe(200)

  gateway.kill('SIGTERM')
  expect(await gateway.ended).toBe(0)
  expect(gateway.said()).not.toMatch(complaints)
})

test(`npm run ingest applies a feed on Node ${process.version}`, async () => {
  const feed = path.join(homes.folder, 'start.ndjson')
  await writeFile(
    feed,
    demoFacts(midnight)
      .map((fact) => `${JSON.stringify(fact)}\n`)
      .join(''),
  )
  const home = await homes.create()
  const ingest = begin('ingest', home, [feed])
  expect([await ingest.ended, complaints.exec(ingest.said())]).toEqual([0, null])
  const database = await home.open()
  expect(await database.prisma.vault.count()).toBeGreaterThan(0)
  await database.close()
})
