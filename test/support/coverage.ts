import { Session } from 'node:inspector/promises'
import { findSourceMap } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const source = path.resolve(import.meta.dirname, '../../src')

/** A function of src/ that ran. */
export interface RunFunction {
  /** Its file, relative to src/, with slashes. */
  readonly file: string
  /** Offset of its first character in the compiled file. */
  readonly offset: number
  /** Line of its first character in the source file, from 1; null where that is unknown. */
  readonly line: number | null
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
  await session.post('Debugger.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  try {
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const run = result.map(async ({ scriptId, url, functions }) => {
      const file = sourceFile(url)
      if (file === null) return []
      const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId })
      return functions.flatMap(({ functionName: name, ranges: [range] }) => {
        const { startOffset: offset = 0, count = 0 } = range ?? {}
        // The function at offset 0 is the module itself.
        return offset > 0 && count > 0 ? [{ file, offset, line: sourceLine(url, scriptSource, offset), name }] : []
      })
    })
    return (await Promise.all(run)).flat()
  } finally {
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  }
}

/** Returns the sorted files of {@link functionsRunBy}, without duplicates. */
export async function filesRunBy(work: () => Promise<unknown>): Promise<string[]> {
  return [...new Set((await functionsRunBy(work)).map(({ file }) => file))].sort()
}

/** Returns the line of an offset in the source of a compiled script, by its source map. */
function sourceLine(url: string, compiled: string, offset: number): number | null {
  const before = compiled.slice(0, offset).split('\n')
  const entry = findSourceMap(url)?.findEntry(before.length - 1, before.at(-1)?.length ?? 0)
  return entry !== undefined && 'originalLine' in entry ? entry.originalLine + 1 : null
}

/** Returns the path of a script relative to src/; null for a file outside of src/, or a generated one. */
function sourceFile(url: string): string | null {
  if (!url.startsWith('file:')) return null
  const file = path.relative(source, fileURLToPath(url.split('?', 1)[0] ?? ''))
  return file.startsWith('..') || file.includes('generated') ? null : file.split(path.sep).join('/')
}
