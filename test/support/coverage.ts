import { Session } from 'node:inspector/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const source = path.resolve(import.meta.dirname, '../../src')

/** A function of src/ that ran. */
export interface RunFunction {
  /** Its file, relative to src/, with slashes. */
  readonly file: string
  /** Offset of its first character in the file. */
  readonly offset: number
  /** Empty for a closure. */
  readonly name: string
}

/**
 * Runs some work, and returns the functions of src/ that were called during it, by V8's precise coverage. The evaluation of
 * modules and generated files are excluded.
 */
export async function functionsRunBy(work: () => Promise<unknown>): Promise<RunFunction[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  try {
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result.flatMap(({ url, functions }) => {
      const file = sourceFile(url)
      if (file === null) return []
      return functions.flatMap(({ functionName: name, ranges: [range] }) => {
        // The function at offset 0 is the module itself.
        const isRun = range !== undefined && range.startOffset > 0 && range.count > 0
        return isRun ? [{ file, offset: range.startOffset, name }] : []
      })
    })
  } finally {
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  }
}

/** Returns the sorted files of {@link functionsRunBy}, without duplicates. */
export async function filesRunBy(work: () => Promise<unknown>): Promise<string[]> {
  return [...new Set((await functionsRunBy(work)).map(({ file }) => file))].sort()
}

/** Returns the path of a script relative to src/; null for a file outside of src/, or a generated one. */
function sourceFile(url: string): string | null {
  if (!url.startsWith('file:')) return null
  const file = path.relative(source, fileURLToPath(url.split('?', 1)[0] ?? ''))
  return file.startsWith('..') || file.includes('generated') ? null : file.split(path.sep).join('/')
}
