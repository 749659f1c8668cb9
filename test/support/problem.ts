import { expect } from 'vitest'
import { untilCancelled } from '../../src/database/cancellation.ts'
import type { Database } from '../../src/database/database.ts'
import { readingBy } from './database.ts'

/** A problem of REST (RFC 9457). */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly parameter?: string
  readonly historySince?: number
}

/** Internal details that no error response may contain: stack traces, SQL, paths, and the message of the failing database. */
const internals = /\bat \w.*:\d+|\bselect\b|\bfrom vault\b|node_modules|\/src\/|\.ts\b|\.js\b|hunter2/i

const secret = 'password hunter2 in select * from vault at /srv/gateway/src/database.ts:1:1'

/** Parses a response as a problem; fails if it is malformed, has another status, or contains internal details. */
export async function problemOf(response: Response, status: number): Promise<Problem> {
  const text = await response.text()
  expect(text).not.toMatch(internals)
  expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  const problem = JSON.parse(text) as Problem
  expect({ answered: response.status, written: problem.status }).toEqual({ answered: status, written: status })
  expect(problem.type).toMatch(/^urn:vault-gateway:problem:[a-z-]+$/)
  expect(problem.title).not.toBe('')
  expect(problem.detail).not.toBe('')
  const optional = ['parameter', 'historySince'].filter((key) => key in problem)
  const keys = ['type', 'title', 'status', 'detail', ...optional]
  expect(Object.keys(problem)).toEqual(keys)
  return problem
}

export interface GraphqlError {
  readonly message: string
  readonly extensions: Readonly<Record<string, unknown>>
}

/** Returns the first error of a GraphQL response; fails if there is none, or if the response contains internal details. */
export async function errorOf(response: Response): Promise<GraphqlError> {
  const text = await response.text()
  expect(text).not.toMatch(internals)
  const { errors } = JSON.parse(text) as { errors?: GraphqlError[] }
  const [error] = errors ?? []
  if (error === undefined) throw new Error(`no error in ${text}`)
  return error
}

/** Returns a database whose reads fail; the message of the default error must not reach a client. */
export function failing<Given extends Database>(database: Given, error = new Error(secret)): Given {
  return readingBy(database, () => Promise.reject(error))
}

/** Returns a database whose reads end only when they are cancelled. */
export function hanging<Given extends Database>(database: Given): Given {
  return readingBy(database, (_, __, signal) => untilCancelled(new Promise<never>(() => undefined), signal))
}
