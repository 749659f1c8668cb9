import { type ChildProcess, spawn } from 'node:child_process'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { afterEach } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')

/** Exit status of a process, and its whole output. */
export interface Outcome {
  readonly status: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A running process of the command line. */
export interface Running {
  readonly pid: number
  readonly input: Writable
  readonly ended: Promise<Outcome>
  /** Waits until the output matches, and returns the match; rejects if the process exits before. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  /** Returns its output so far: standard output, then standard error. */
  said(): string
  kill(signal: NodeJS.Signals): void
  /** Closes the pipe of its standard output or standard error. */
  stopReading(name?: 'stdout' | 'stderr'): void
}

export type Environment = Readonly<Record<string, string>>

export interface CommandLine {
  /** Starts a process; see {@link startProcess}. */
  start(args: readonly string[], env: Environment, descriptors?: number): Running
  /** Starts a process, writes its whole input, and waits for its exit. */
  run(args: readonly string[], env: Environment, input?: string | Uint8Array): Promise<Outcome>
}

/** Returns functions that start processes of the command line; those that still run after a test are killed. */
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
 * Starts the command line, without the environment of this process except PATH.
 * @param descriptors limit of its file descriptors
 * @param folder root of the project, such as that of another version
 */
export function startProcess(args: readonly string[], env: Environment, descriptors?: number, folder = root): Running {
  const command = [process.execPath, 'src/start.mjs', ...args]
  const limited = ['sh', '-c', `ulimit -n ${String(descriptors)} && exec "$0" "$@"`, ...command]
  const [file = '', ...rest] = descriptors === undefined ? command : limited
  const child = spawn(file, rest, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  const output = { stdout: '', stderr: '' }
  const allOutput = (): string => output.stdout + output.stderr
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text))
  }
  // EPIPE of a process that exits without reading its input.
  child.stdin.on('error', () => undefined)
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (status, signal) => resolve({ status, signal, ...output }))
  })
  return {
    pid: child.pid as number,
    input: child.stdin,
    ended,
    says: (pattern) => waitForOutput(child, ended, pattern, allOutput),
    said: allOutput,
    kill: (signal) => void child.kill(signal),
    stopReading: (name = 'stdout') => void child[name].destroy(),
  }
}

function waitForOutput(
  child: ChildProcess,
  ended: Promise<Outcome>,
  pattern: RegExp,
  output: () => string,
): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    const streams = [child.stdout, child.stderr]
    const check = (): void => {
      const match = pattern.exec(output())
      if (match === null) return
      resolve(match)
      for (const stream of streams) stream?.off('data', check)
    }
    for (const stream of streams) stream?.on('data', check)
    check()
    void ended.then(() => reject(new Error(`The process exited without ${pattern.source} in its output:\n${output()}`)))
  })
}
