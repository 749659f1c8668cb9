import fc from 'fast-check'
import type { GraphQLField, GraphQLObjectType } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../../src/graphql/schema/schema.ts'
import type { GraphqlPlugin } from '../../../src/http/graphql/handler.ts'
import type { App } from '../../../src/http/app.ts'
import { defaultQueryLimits } from '../../../src/limits.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { tooManyFields, withTooManyFields } from '../../support/not-compilable.ts'
import { addressOf, apply, deposit, mark, midnight, opened, position, strategy } from '../../support/world.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await emptyDatabase()
  await apply(database, [
    strategy('calm'),
    ...[1, 2].flatMap((number) => {
      const vault = addressOf(number)
      return [
        opened(vault, 'calm'),
        deposit(vault, midnight, '1000.123456'),
        mark(vault, midnight + 60, `${1_000 * number}.5`, { positions: [position('a')] }),
      ]
    }),
  ])
})

const vaultQuery = `query Vault($address: Address!, $points: Int = 5) {
  vault(address: $address) { valueUsd status positions { id } equity(points: $points) { ts netUsd } }
}`
const several = `query One { strategies { id } } query Other { strategies { name } }`
const ofStrategies = '{ strategies { id name liveApr } }'

const json = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }

function requestOf(asked: object, headers: Readonly<Record<string, string>> = json, query = ''): Request {
  return new Request(`http://gateway.test/graphql${query}`, { method: 'POST', headers, body: JSON.stringify(asked) })
}

describe('a repeated document', () => {
  const addresses = [addressOf(1), addressOf(2), addressOf(3), '0x12', null]
  const parameters: fc.Arbitrary<object> = fc.oneof(
    fc.record(
      {
        query: fc.constant(vaultQuery),
        variables: fc.record(
          { address: fc.constantFrom(...addresses), points: fc.constantFrom(2, 5, 0, 2_001, 'many') },
          { requiredKeys: ['address'] },
        ),
        operationName: fc.constantFrom('Vault', 'Other', null),
      },
      { requiredKeys: ['query', 'variables'] },
    ),
    fc.record(
      { query: fc.constant(several), operationName: fc.constantFrom('One', 'Other', 'Third', '', null) },
      { requiredKeys: ['query'] },
    ),
    fc.record(
      { query: fc.constant(ofStrategies), variables: fc.constantFrom({}, null, [], 'x'), extensions: fc.constant({}) },
      { requiredKeys: ['query'] },
    ),
  )
  const headers = fc.record({
    'content-type': fc.constantFrom('application/json', 'application/json; charset=utf-8', 'text/plain'),
    accept: fc.constantFrom('application/json', 'application/graphql-response+json', '*/*', 'text/html', 'image/png'),
  })

  test('is answered like a new one', async () => {
    const { app } = gatewayOn(database)
    await fc.assert(
      fc.asyncProperty(parameters, headers, async (body, sent) => {
        const { app: fresh } = gatewayOn(database)
        const expected = await responseOf(fresh, requestOf(body, sent))
        // It is repeated at least once.
        for (let times = 0; times < 2; times++) expect(await responseOf(app, requestOf(body, sent))).toEqual(expected)
      }),
      { numRuns: 150 },
    )
  })

  test('is answered as Yoga answers the same request by fetch', async () => {
    const { app } = gatewayOn(database)
    await fc.assert(
      fc.asyncProperty(parameters, headers, async (body, sent) => {
        const byParams = await responseOf(app, requestOf(body, sent))
        expect(byParams).toEqual(await responseOf(app, requestOf(body, sent, '?by=fetch')))
      }),
      { numRuns: 150 },
    )
  })

  async function responseOf(app: App, request: Request): Promise<unknown> {
    const response = await app.fetch(request)
    const compared = Object.fromEntries([...response.headers].filter(([name]) => name !== 'x-request-id'))
    return { status: response.status, headers: compared, body: await response.text() }
  }
})

const failing = `query Failing($address: Address!, $points: Int!) {
  vault(address: $address) { valueUsd equity(points: $points) { ts } positions { id } }
}`

describe('each request', () => {
  test('that is a mutation is refused, because there are none', async () => {
    const response = await gatewayOn(database).post('mutation { nothing }')
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('There are no mutations')])
  })

  test.each([json.accept, 'application/json'])(
    'by GET that is a mutation is refused for its method: %s',
    async (accept) => {
      const response = await gatewayOn(database).get('/graphql?query=mutation{nothing}', { headers: { accept } })
      const message = 'There are no mutations: nothing can be changed here.'
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST, OPTIONS'])
      expect(await response.json()).toEqual({ errors: [{ message, extensions: { code: 'METHOD_NOT_ALLOWED' } }] })
    },
  )

  test.each([
    'query=%7B__typename%7D%23%FF',
    'query={__typename}%23%',
    '%71uery={__typename}%23%C3%28',
    'query={__typename}&operationName=%ED%A0%80',
    'query={__typename}&variables={"a":"%80"}',
    'query={__typename}&extensions={"a":"%zz"}',
    'query={__typename}&a=%FF',
  ])('by GET whose query string is not percent-encoded UTF-8 is refused: %s', async (query) => {
    for (const accept of [json.accept, 'application/json', 'text/event-stream']) {
      const response = await gatewayOn(database).get(`/graphql?${query}`, { headers: { accept } })
      const message = 'The query string is not percent-encoded UTF-8.'
      expect([response.status, await response.json()]).toEqual([
        400,
        { errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] },
      ])
    }
  })

  test.each(['query={__typename}%23%EF%BF%BD', 'query={__typename}%23%C3%A9'])(
    'by GET whose query string is percent-encoded UTF-8 is answered: %s',
    async (query) => {
      const response = await gatewayOn(database).get(`/graphql?${query}`, { headers: { accept: json.accept } })
      expect([response.status, await response.json()]).toMatchObject([200, { data: { __typename: 'Query' } }])
    },
  )

  test.each(['query={__typename}%23%FF', 'query={__typename}&a=%', '%C3%28&query={__typename}'])(
    'by a form that is not percent-encoded UTF-8 is refused: %s',
    async (body) => {
      const headers = { ...json, 'content-type': 'application/X-WWW-form-urlencoded; charset=utf-8' }
      const response = await gatewayOn(database).get('/graphql', { method: 'POST', headers, body })
      const message = 'The form is not percent-encoded UTF-8.'
      expect([response.status, await response.json()]).toEqual([
        400,
        { errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] },
      ])
    },
  )

  test.each(['query={__typename}%23%EF%BF%BD', 'query=%7B+__typename+%7D'])(
    'by a form that is percent-encoded UTF-8 is answered: %s',
    async (body) => {
      const headers = { ...json, 'content-type': 'application/x-www-form-urlencoded' }
      const response = await gatewayOn(database).get('/graphql', { method: 'POST', headers, body })
      expect([response.status, await response.json()]).toMatchObject([200, { data: { __typename: 'Query' } }])
    },
  )

  test.each([
    ['query', 'query={__typename}&query={__typename}'],
    ['query', '%71uery={__typename}&a=1&query='],
    ['operationName', 'query={__typename}&operationName=&operationName='],
    ['variables', 'variables={}&variables={}&query={__typename}'],
    ['extensions', 'query={__typename}&extensions={}&extensions={}'],
  ])('that gives the parameter %s twice is refused, as over REST: %s', async (name, parameters) => {
    const { app } = gatewayOn(database)
    const refusal = {
      errors: [{ message: `The parameter ${name} is given 2 times.`, extensions: { code: 'BAD_REQUEST' } }],
    }
    const form = { method: 'POST', body: parameters, headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    for (const accept of [json.accept, 'application/json', 'text/event-stream']) {
      const byGet = new Request(`http://gateway.test/graphql?${parameters}`, { headers: { accept } })
      const byForm = new Request('http://gateway.test/graphql', { ...form, headers: { ...form.headers, accept } })
      for (const request of [byGet, byForm]) {
        const response = await app.fetch(request)
        expect([response.status, await response.json()]).toEqual([400, refusal])
      }
    }
  })

  test('by GET that gives a parameter twice that is none of GraphQL is answered', async () => {
    const response = await gatewayOn(database).get('/graphql?a=1&query={__typename}&a=2', { headers: json })
    expect([response.status, await response.json()]).toMatchObject([200, { data: { __typename: 'Query' } }])
  })

  test.each([
    ['number', 5],
    ['boolean', true],
    ['array', ['A']],
    ['object', { name: 'A' }],
  ])('whose operationName is a %s is refused, as one whose variables are none', async (type, operationName) => {
    const { app } = gatewayOn(database)
    for (const contentType of ['application/json', 'application/graphql+json']) {
      for (const accept of [json.accept, 'application/json']) {
        const sent = requestOf(
          { query: 'query A { __typename }', operationName },
          { 'content-type': contentType, accept },
        )
        const response = await app.fetch(sent)
        const message = `Expected "operationName" param to be a string, but given ${type}.`
        expect([response.status, response.headers.get('content-type'), await response.json()]).toEqual([
          400,
          `${accept}; charset=utf-8`,
          { errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] },
        ])
      }
    }
  })

  test('that fails outside of the executor is masked like one that fails in it', async () => {
    const failing: GraphqlPlugin = {
      onResponse: () => {
        throw new Error('hunter2')
      },
    }
    const gateway = gatewayOn(database, { plugins: [failing] })
    const response = await gateway.get('/graphql?query={__typename}', { headers: { accept: json.accept } })
    const message = expect.stringMatching(
      /^Something went wrong here\. It is logged with the request id \S+\.$/,
    ) as unknown
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ errors: [{ message, extensions: { code: 'INTERNAL_SERVER_ERROR' } }] })
    expect(gateway.reported).toHaveLength(1)
  })

  test('names the same methods in Allow, and only where it is refused for its method', async () => {
    const { app } = gatewayOn(database)
    const ask = (method: string): Promise<Response> =>
      app.fetch(new Request('http://gateway.test/graphql', { method, headers: { accept: json.accept } }))
    const allowed = async (method: string): Promise<unknown> => {
      const { status, headers } = await ask(method)
      return [status, headers.get('allow')]
    }
    expect(await allowed('HEAD')).toEqual([405, 'GET, POST, OPTIONS'])
    expect(await allowed('DELETE')).toEqual([405, 'GET, POST, OPTIONS'])
    expect((await ask('GET')).headers.get('allow')).toBeNull()
  })

  test('passes through every plugin, however often its document was sent before', async () => {
    const seen: string[] = []
    const counting: GraphqlPlugin = {
      onParams: () => void seen.push('params'),
      onParse: () => void seen.push('parse'),
      onValidate: () => void seen.push('validate'),
      onExecute: () => void seen.push('execute'),
      onExecutionResult: () => void seen.push('result'),
    }
    const { app } = gatewayOn(database, { plugins: [counting] })
    const all = ['params', 'parse', 'validate', 'execute', 'result']
    for (const query of ['', '', '', '?by=fetch']) {
      seen.length = 0
      await (await app.fetch(requestOf({ query: ofStrategies }, json, query))).text()
      expect(seen).toEqual(all)
    }
  })

  test('runs a resolver at most twice and a statement once, if a field fails', async () => {
    const field = schema.getType('Vault') as GraphQLObjectType
    const { equity } = field.getFields()
    const { resolve } = equity as GraphQLField<unknown, unknown>
    let calls = 0
    Object.assign(equity as object, {
      resolve: (source: unknown, args: object, context: unknown): unknown => {
        calls++
        return (resolve as (...given: unknown[]) => unknown)(source, args, context)
      },
    })
    try {
      const reasons: string[] = []
      const gateway = gatewayOn(database, { observer: { onFallback: (reason) => reasons.push(reason) } })
      for (let times = 0; times < 2; times++) {
        calls = 0
        database.takeStatements()
        const response = await gateway.post(failing, { address: addressOf(1), points: 1 })
        const { data, errors } = (await response.json()) as { data: unknown; errors: { path: string[] }[] }
        expect([data, errors.map(({ path }) => path)]).toEqual([{ vault: null }, [['vault', 'equity']]])
        expect(calls).toBeLessThanOrEqual(2)
        const statements = database.takeStatements()
        expect(statements).toEqual([...new Set(statements)])
      }
      expect(reasons).toEqual(['error', 'error'])
    } finally {
      Object.assign(equity as object, { resolve })
    }
  })

  test('that graphql-js executes, because a field fails, begins in a separate iteration of the event loop', async () => {
    const { equity } = (schema.getType('Vault') as GraphQLObjectType).getFields()
    const { resolve } = equity as GraphQLField<unknown, unknown>
    let iteration = 0
    const counting = (): void => {
      iteration++
      next = setImmediate(counting)
    }
    let next = setImmediate(counting)
    const begun: number[] = []
    Object.assign(equity as object, {
      resolve: (source: unknown, args: object, context: unknown): unknown => {
        begun.push(iteration)
        return (resolve as (...given: unknown[]) => unknown)(source, args, context)
      },
    })
    try {
      const gateway = gatewayOn(database)
      const ask = (points: number): Promise<Response> => gateway.post(failing, { address: addressOf(1), points })
      await ask(1)
      begun.length = 0
      const answers = await Promise.all([1, 0, -1, -2].map(ask))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      // The compiled operations have run it, too, before.
      const byGraphqlJs = begun.slice(-4)
      expect(begun).toHaveLength(8)
      expect(new Set(byGraphqlJs).size).toBe(4)
    } finally {
      clearImmediate(next)
      Object.assign(equity as object, { resolve })
    }
  })

  test('is compiled with @skip and @include, and counted if graphql-js executes it', async () => {
    const reasons: string[] = []
    const queryLimits = withTooManyFields(defaultQueryLimits)
    const gateway = gatewayOn(database, { queryLimits, observer: { onFallback: (reason) => reasons.push(reason) } })
    const query = `query ($yes: Boolean!) { strategies { id name @include(if: $yes) liveApr @skip(if: $yes) } }`
    const [strategies] = (await gateway.query<{ strategies: object[] }>(query, { yes: true })).strategies
    expect(strategies).toEqual({ id: 'calm', name: 'The calm' })
    const [others] = (await gateway.query<{ strategies: object[] }>(query, { yes: false })).strategies
    expect(others).toEqual({ id: 'calm', liveApr: null })
    expect(reasons).toEqual([])
    await gateway.query(`{ ${tooManyFields} }`)
    expect(reasons).toEqual(['not compiled'])
  })
})
