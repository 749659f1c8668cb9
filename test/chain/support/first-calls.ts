import { Session } from 'node:inspector/promises'
import { type RunFunction } from '../../support/coverage.ts'

/** Global function that the breakpoints call. */
const recorder = 'recordFirstCall'

/**
 * Runs some work again, and returns the functions in the order of their first calls, by breakpoints whose conditions record
 * the call and do not pause.
 * @param functions the functions of {@link functionsRunBy} of the same work
 */
export async function inOrderOfFirstCalls<Named extends RunFunction>(
  functions: readonly Named[],
  work: () => Promise<unknown>,
): Promise<Named[]> {
  const session = new Session()
  session.connect()
  const scripts = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params }) => void scripts.set(params.url, params.scriptId))
  await session.post('Debugger.enable')
  const called = new Set<number>()
  Object.assign(globalThis, { [recorder]: (index: number) => void called.add(index) })
  try {
    for (const [index, { file, offset }] of functions.entries()) {
      const scriptId = [...scripts].find(([url]) => url.endsWith(`/src/${file}`))?.[1] ?? ''
      const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId })
      const before = scriptSource.slice(0, offset).split('\n')
      const start = { scriptId, lineNumber: before.length - 1, columnNumber: before.at(-1)?.length ?? 0 }
      const { locations } = await session.post('Debugger.getPossibleBreakpoints', { start, restrictToFunction: true })
      // The first location may be the default value of a parameter, which is not evaluated at each call.
      for (const location of locations) {
        await session.post('Debugger.setBreakpoint', { location, condition: `${recorder}(${index}), false` })
      }
    }
    await work()
    return [...called].flatMap((index) => functions[index] ?? [])
  } finally {
    session.disconnect()
  }
}
