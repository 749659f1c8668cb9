import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** CPU time that a process has used, and its resident memory. */
export interface ProcessUsage {
  readonly cpuSeconds: number
  readonly megabytes: number
}

/** USER_HZ, which is 100 on all Linux platforms that Node supports. */
const ticksPerSecond = 100

/**
 * Reads the resource usage of a process from /proc; returns null on systems other than Linux.
 * @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
export function processUsage(pid: number): ProcessUsage | null {
  if (process.platform !== 'linux') return null
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The second field is the name of the program, which may contain spaces and parentheses; utime and stime are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { cpuSeconds, megabytes: Number(resident) / 1024 }
}

/** Describes the CPU and the versions of Node and PostgreSQL for the report. */
export function describeMachine(postgresqlVersion: string): string {
  const [first] = cpus()
  const model = (first?.model ?? 'unknown CPU').trim()
  return `${model}, ${cpus().length} cores, Node ${process.versions.node}, PostgreSQL ${postgresqlVersion}`
}
