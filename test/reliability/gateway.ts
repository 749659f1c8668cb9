import path from 'node:path'
import type { Writable } from 'node:stream'
import { type Environment, type Outcome, startProcess } from '../support/process.ts'

/** Memory and CPU time of a gateway's process. */
export interface ResourceUsage {
  readonly cpuSeconds: number
  /** The longest that its event loop stood still since the reading before. */
  readonly blockedSeconds: number
  /** Once its garbage is gone. */
  readonly heapBytes: number
  readonly rssBytes: number
}

/** A gateway as users run it, in a process of its own. */
export interface GatewayProcess {
  readonly port: number
  /** Its standard input. */
  readonly input: Writable
  read(): Promise<ResourceUsage>
  /** Whether it has ended by itself. */
  readonly ended: Promise<Outcome>
  stop(): Promise<Outcome>
  kill(): Promise<void>
}

const probe = path.resolve(import.meta.dirname, 'probe.mjs')

/** @param args of the command `serve` */
export async function startGateway(args: readonly string[], env: Environment): Promise<GatewayProcess> {
  const running = startProcess(['serve', ...args], {
    PORT: '0',
    DEMO: '0',
    LOG_LEVEL: 'error',
    NODE_OPTIONS: `--import ${probe}`,
    ...env,
  })
  // A show that fails leaves none behind.
  const killWithThis = (): void => running.kill('SIGKILL')
  process.once('exit', killWithThis)
  void running.ended.finally(() => process.off('exit', killWithThis))
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

/** Unexpected failures in a gateway's log. */
export function errorLogLines({ stderr }: Outcome): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('probe '))
}
