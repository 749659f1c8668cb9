import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Clock ticks per second. */
const ticks = Number(execFileSync('getconf', ['CLK_TCK']).toString())

/** Returns the CPU time of a process in seconds, alone or with all its children, including those that have exited. */
export function processorSeconds(id: number, which: 'alone' | 'with children'): number {
  if (which === 'alone') return timesOf(id).own
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(id)])
    .toString()
    .trim()
    .split(/\s+/)
    .map(Number)
  const { own, ended } = timesOf(id)
  return children.reduce((sum, child) => sum + timesOf(child).own, own + ended)
}

/**
 * Returns the CPU time of a process and of its exited children.
 * @see proc(5): the name of a process may contain spaces, and ends with the last parenthesis
 */
function timesOf(id: number): { readonly own: number; readonly ended: number } {
  const text = statOf(id)
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
  return { own: (user + system) / ticks, ended: (endedUser + endedSystem) / ticks }
}

/** Reads the statistics of a process; empty if it has exited. */
function statOf(id: number): string {
  try {
    return readFileSync(`/proc/${id}/stat`, 'utf8')
  } catch {
    return ''
  }
}
