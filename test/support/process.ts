import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { afterEach } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')

/** How a process ended, and what it had said. */
export interface Outcome {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A process of the command line that runs. */
export interface Running {
  readonly pid: number
  readonly input: Writable
  readonly ended: Promise<Outcome>
  /** Resolves when it has said this; fails where it ends without. */
  says(words: RegExp): Promise<RegExpExecArray>
  /** All that it has said until now. */
  said(): string
  kill(signal: NodeJS.Signals): void
  /** Reads no more of what it writes to standard output, or to standard error. */
  stopReading(name?: 'stdout' | 'stderr'): void
}

export type Environment = Readonly<Record<string, string>>

export interface CommandLine {
  start(args: readonly string[], env: Environment, descriptors?: number): Running
  /** Starts it, gives it its whole input, and waits for its end. */
  run(args: readonly string[], env: Environment, input?: string | Uint8Array): Promise<Outcome>
}

/** The project's command line, as processes; those that a test leaves running are killed after it. */
export function commandLine(): CommandLine {
  const running = new Set<Running>()
  const start: CommandLine['start'] = (args, env, descriptors) => {
    const started = startProcess(args, env, descriptors)
    running.add(started)
    void started.ended.then(() => running.delete(started))
    return started
  }
  afterEach(async () => {
    const left = [...running]
    for (const each of left) each.kill('SIGKILL')
    await Promise.all(left.map(({ ended }) => ended))
  })
  return {
    start,
    run: (args, env, input = '') => {
      const started = start(args, env)
      started.input.end(input)
      return started.ended
    },
  }
}

/**
 * Starts the project's command line; nothing of this process's environment configures the other one.
 * @param descriptors how many file descriptors it may have
 * @param folder of the project, such as one of another version
 */
export function startProcess(args: readonly string[], env: Environment, descriptors?: number, folder = root): Running {
  const command = [process.execPath, 'src/start.mjs', ...args]
  const limited = ['sh', '-c', `ulimit -n ${String(descriptors)} && exec "$0" "$@"`, ...command]
  const [file = '', ...rest] = descriptors === undefined ? command : limited
  const child = spawn(file, rest, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  const said = { stdout: '', stderr: '' }
  const allSaid = (): string => said.stdout + said.stderr
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (words: string) => (said[name] += words))
  }
  // One that ends without reading its input breaks the pipe, which is not what a test is about.
  child.stdin.on('error', () => undefined)
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status, signal) => resolve({ status, signal, ...said }))
  })
  return {
    pid: child.pid as number,
    input: child.stdin,
    ended,
    says: (words) => saying(child, ended, words, allSaid),
    said: allSaid,
    kill: (signal) => void child.kill(signal),
    stopReading: (name = 'stdout') => void child[name].destroy(),
  }
}

function saying(
  child: ChildProcess,
  ended: Promise<Outcome>,
  words: RegExp,
  said: () => string,
): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const streams = [child.stdout, child.stderr]
    const look = (): void => {
      const found = words.exec(said())
      if (found === null) return
      resolve(found)
      for (const stream of streams) stream?.off('data', look)
    }
    for (const stream of streams) stream?.on('data', look)
    look()
    void ended.then(() => reject(new Error(`It ended and never said ${words.source}, but:\n${said()}`)))
  })
}
