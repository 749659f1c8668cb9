import path from 'node:path'
import type { Writable } from 'node:stream'
import { type Environment, type Outcome, startProcess } from '../support/process.ts'

/** Memory and CPU time of a gateway, with its workers' memory. */
export interface ResourceUsage {
  readonly cpuSeconds: number
  /** Longest event-loop delay since the previous measurement. */
  readonly blockedSeconds: number
  /** Live objects on the JavaScript heap, after a garbage collection. */
  readonly heapBytes: number
  readonly rssBytes: number
}

/** A gateway that runs as a child process. */
export interface GatewayProcess {
  readonly port: number
  /** Its standard input. */
  readonly input: Writable
  /** Collects garbage, then measures memory and CPU time. */
  read(): Promise<ResourceUsage>
  /** Resolves when the process has exited. */
  readonly ended: Promise<Outcome>
  stop(): Promise<Outcome>
  kill(): Promise<void>
}

const probe = path.resolve(import.meta.dirname, 'probe.mjs')

/**
 * Starts a gateway on a free port, and waits until it listens.
 * @param args arguments of the command `serve`
 * @param env more environment variables
 */
export async function startGateway(args: readonly string[], env: Environment): Promise<GatewayProcess> {
  const running = startProcess(['serve', ...args], {
    PORT: '0',
    DEMO: '0',
    LOG_LEVEL: 'error',
    NODE_OPTIONS: `--import ${probe}`,
    ...env,
  })
  // No child process outlives this one.
  const killOnExit = (): void => running.kill('SIGKILL')
  process.once('exit', killOnExit)
  void running.ended.finally(() => process.off('exit', killOnExit))
  const [, port] = await running.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
  let usageCount = 0
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<Outcome> => {
    running.kill(signal)
    return running.ended
  }
  return {
    port: Number(port),
    input: running.input,
    ended: running.ended,
    async read() {
      const printed = running.says(new RegExp(`^probe ${++usageCount} (.*)$`, 'm'))
      running.kill('SIGUSR2')
      return JSON.parse((await printed)[1] ?? '') as ResourceUsage
    },
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  }
}

/** Returns the lines that a gateway has logged, which are errors unless LOG_LEVEL is lower. */
export function errorLogLines({ stderr }: Outcome): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('probe '))
}

/** Formats a number of bytes in MB (1e6 bytes), with one decimal. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}
