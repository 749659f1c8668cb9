import { Session } from 'node:inspector/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const source = path.resolve(import.meta.dirname, '../../src')

/** Files of src/ whose functions ran while some work was done, by V8's precise coverage; their own loading is left out. */
export async function filesRunBy(work: () => Promise<unknown>): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  try {
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result.flatMap(fileRun).sort()
  } finally {
    await session.post('Profiler.stopPreciseCoverage')
    session.disconnect()
  }
}

interface Script {
  readonly url: string
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
  }[]
}

function fileRun({ url, functions }: Script): string[] {
  if (!url.startsWith('file:')) return []
  const file = path.relative(source, fileURLToPath(url.split('?', 1)[0] ?? ''))
  // The function that begins with the file is the file itself.
  const isRun = functions.some(({ ranges: [range] }) => range !== undefined && range.startOffset > 0 && range.count > 0)
  return isRun && !file.startsWith('..') && !file.includes('generated') ? [file.split(path.sep).join('/')] : []
}
