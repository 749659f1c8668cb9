import { expect, test } from 'vitest'
import { SnapshotAtDocument, StrategiesDocument } from '../../src/rest/documents.generated.ts'
import { route, type RouteDocumentation } from '../../src/rest/route.ts'
import { routes } from '../../src/rest/routes.ts'

const strategies = {
  path: '/strategies',
  document: StrategiesDocument,
  documentation: routes.find(({ path }) => path === '/strategies')?.documentation as RouteDocumentation,
  queryParameters: {},
  bodyPath: ['strategies'],
} as const

test('A route that the handler does not support is refused at the start', () => {
  expect(route(strategies).path).toBe('/strategies')
  expect(() => route({ ...strategies, path: '/strategies/:id/days/:day' })).toThrow('several path parameters')
  expect(() => route({ ...strategies, next: () => null })).toThrow('no query parameter cursor')
  const past = { parameter: 'at', document: SnapshotAtDocument, isFinal: () => false }
  expect(() => route({ ...strategies, past })).toThrow('no query parameter at')
})
