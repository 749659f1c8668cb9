import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** Resources of a process: its CPU time until now, and its memory at this moment. */
export interface ProcessFigures {
  readonly cpuSeconds: number
  readonly megabytes: number
}

/** Linux counts CPU time in hundredths of a second wherever Node runs. */
const ticksPerSecond = 100

/** As Linux tells it; null elsewhere. */
export function processFigures(pid: number): ProcessFigures | null {
  if (process.platform !== 'linux') return null
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // Its second field is the program's name, which may hold anything; user and system time are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { cpuSeconds, megabytes: Number(resident) / 1024 }
}

/** The machine and the programs, in words. */
export function machine(postgresqlVersion: string): string {
  const [first] = cpus()
  const model = (first?.model ?? 'unknown CPU').trim()
  return `${model}, ${cpus().length} cores, Node ${process.versions.node}, PostgreSQL ${postgresqlVersion}`
}
