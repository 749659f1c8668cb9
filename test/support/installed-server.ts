import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** Why a program can't be started here; null where it can, or where the machine's tests must have it. */
export function missing(program: string, debianPackage: string): string | null {
  if (isExecutable(program) || process.env['CI'] === 'true') return null
  return `there is no ${program}: apt-get install ${debianPackage}`
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A running server. */
export interface InstalledServer {
  /** Ends it, and takes its folder away. */
  remove(): Promise<void>
}

/**
 * Starts a server in the foreground, and waits until it answers.
 * @param folder of its files
 */
export async function startInstalled(
  program: string,
  args: readonly string[],
  folder: string,
  answers: () => Promise<unknown>,
): Promise<InstalledServer> {
  const running = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  running.stderr.on('data', (chunk) => (said += String(chunk)))
  const ended = once(running, 'close')
  // A test that fails leaves none behind.
  const killWithThis = (): void => void running.kill('SIGKILL')
  process.once('exit', killWithThis)
  void ended.finally(() => process.off('exit', killWithThis))
  const hasAnswered = (): Promise<boolean> =>
    answers().then(
      () => true,
      () => false,
    )
  for (let tries = 0; !(await hasAnswered()); tries++) {
    if (running.exitCode !== null || tries === 200) throw new Error(`${path.basename(program)} did not start: ${said}`)
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
