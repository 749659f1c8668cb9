import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

const program = '/usr/bin/promtool'

/** Reason to skip tests that need promtool; null if it is installed. */
export const noPromtool: string | null = existsSync(program)
  ? null
  : 'promtool is missing: apt-get install --no-install-recommends prometheus'

/**
 * Runs promtool, and returns its standard output.
 * @throws {Error} with its output, if it finds an error
 */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args)
  return stdout
}
