import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** Returns the reason to skip tests that need a program; null if it is installed, and in CI, where they must not be skipped. */
export function missing(program: string, debianPackage: string): string | null {
  if (isExecutable(program) || process.env['CI'] === 'true') return null
  return `${program} is missing: apt-get install ${debianPackage}`
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A running server process. */
export interface InstalledServer {
  /** Terminates the process, and removes its folder. */
  remove(): Promise<void>
}

/**
 * Starts a server, and polls it until it answers, at most 200 times.
 * @param folder files of the server, which are removed with it
 * @param answers sends a request; rejects if there is no answer
 * @throws {Error} with its standard error, if it exits or does not answer
 */
export async function startInstalled(
  program: string,
  args: readonly string[],
  folder: string,
  answers: () => Promise<unknown>,
): Promise<InstalledServer> {
  const running = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  running.stderr.on('data', (chunk) => (stderr += String(chunk)))
  const ended = once(running, 'close')
  // Also if this process exits early.
  const killWithThis = (): void => void running.kill('SIGKILL')
  process.once('exit', killWithThis)
  void ended.finally(() => process.off('exit', killWithThis))
  const hasAnswered = (): Promise<boolean> =>
    answers().then(
      () => true,
      () => false,
    )
  for (let tries = 0; !(await hasAnswered()); tries++) {
    if (running.exitCode !== null || tries === 200)
      throw new Error(`${path.basename(program)} did not start: ${stderr}`)
    await wait(25)
  }
  return {
    async remove() {
      running.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}
