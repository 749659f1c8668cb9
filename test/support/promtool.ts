import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'

const program = '/usr/bin/promtool'

/** Why Prometheus' own checks can't run here; null where they can. */
export const noPromtool: string | null = existsSync(program)
  ? null
  : 'promtool is missing: apt-get install --no-install-recommends prometheus'

/** @throws with what promtool says, where it finds anything wrong */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args)
  return stdout
}
