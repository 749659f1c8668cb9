import { onlyRead } from '../rest/handler.ts'
import { problem } from '../rest/problem.ts'
import type { Answer, Inbound } from './exchange.ts'

/** What the gateway asks, to tell whether it can serve. */
export interface Readiness {
  /** Why it can't; null where it can. */
  reason(): Promise<string | null>
}

export const probePaths: readonly string[] = ['/health', '/ready']

const always: Readiness = { reason: () => Promise.resolve(null) }

/** Answers `/health` and `/ready`. */
export function createProbes(readiness: Readiness = always): (request: Inbound) => Promise<Answer> {
  const ready = async (): Promise<Answer> => {
    const reason = await readiness.reason()
    return reason === null ? told('ready') : problem('NOT_READY', reason)
  }
  return async ({ method, path }) => {
    const answer = await onlyRead(method, path === '/ready' ? ready : () => Promise.resolve(told('alive')))
    return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-store' } }
  }
}

export function isProbe({ path }: { readonly path: string }): boolean {
  return probePaths.includes(path)
}

function told(status: string): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify({ status }),
  }
}
