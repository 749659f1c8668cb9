import { expect } from 'vitest'
import { untilCancelled } from '../../src/database/cancellation.ts'
import type { Database } from '../../src/database/database.ts'
import { readingBy } from './database.ts'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly parameter?: string
  readonly historySince?: number
}

/** Contents that no refusal may have: stacks, SQL, paths, and messages of the failing database. */
const internals = /\bat \w.*:\d+|\bselect\b|\bfrom vault\b|node_modules|\/src\/|\.ts\b|\.js\b|hunter2/i

const secret = 'password hunter2 in select * from vault at /srv/gateway/src/database.ts:1:1'

/** The problem that an answer is, when it is well formed and tells nothing of what is inside. */
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

/** The first error of a GraphQL answer, when none of it tells what is inside. */
export async function errorOf(response: Response): Promise<GraphqlError> {
  const text = await response.text()
  expect(text).not.toMatch(internals)
  const { errors } = JSON.parse(text) as { errors?: GraphqlError[] }
  const [error] = errors ?? []
  if (error === undefined) throw new Error(`there is no error in ${text}`)
  return error
}

/** A database whose reads fail, with one and the same error: one whose text nobody outside may see, unless given. */
export function failing<Given extends Database>(database: Given, error = new Error(secret)): Given {
  return readingBy(database, () => Promise.reject(error))
}

/** A database whose reads end only when they are given up. */
export function hanging<Given extends Database>(database: Given): Given {
  return readingBy(database, (_, __, signal) => untilCancelled(new Promise<never>(() => undefined), signal))
}
