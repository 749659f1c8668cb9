import fc from 'fast-check'
import { type DocumentNode, parse } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { admissionLimits, defaultQueryLimits } from '../../../src/limits.ts'
import { createAdmissionControl } from '../../../src/graphql/execution/admission-control.ts'
import { inOneMomentOn } from '../../../src/graphql/execution/snapshot-consistency.ts'
import type { App } from '../../../src/http/app.ts'
import { boundedExecution } from '../../../src/http/graphql/bounded-execution.ts'
import { type GraphqlParams, askedIn, createFastLane, type FastLane } from '../../../src/http/graphql/fast-lane.ts'
import { fromFetch } from '../../../src/http/server/request-adapter.ts'
import { emptyDatabase, type TestDatabase } from '../../support/database.ts'
import { gatewayOn } from '../../support/gateway.ts'
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

describe('a document that was asked before', () => {
  const addresses = [addressOf(1), addressOf(2), addressOf(3), '0x12', null]
  const asked: fc.Arbitrary<object> = fc.oneof(
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

  test('is answered as if it never had been', async () => {
    const { app } = gatewayOn(database)
    await fc.assert(
      fc.asyncProperty(asked, headers, async (body, sent) => {
        const { app: fresh } = gatewayOn(database)
        const expected = await said(fresh, requestOf(body, sent))
        // Once at least it has been asked then.
        for (let times = 0; times < 2; times++) expect(await said(app, requestOf(body, sent))).toEqual(expected)
      }),
      { numRuns: 150 },
    )
  })

  async function said(app: App, request: Request): Promise<unknown> {
    const response = await app.fetch(request)
    const told = Object.fromEntries([...response.headers].filter(([name]) => name !== 'x-request-id'))
    return { status: response.status, headers: told, body: await response.text() }
  }
})

describe('the fast lane', () => {
  const head = { 'content-type': 'learned' }
  const report = (): string => 'nothing is reported'

  function laneOn(texts: readonly string[], valid: readonly string[] = texts): FastLane {
    const documents = new Map<string, DocumentNode>(texts.map((text) => [text, parse(text)]))
    return createFastLane({
      execution: boundedExecution(
        { ...defaultQueryLimits, cost: 1_000 },
        { inOneMoment: inOneMomentOn(database), admission: createAdmissionControl(admissionLimits) },
      ),
      documents,
      valid: new WeakSet(valid.map((text) => documents.get(text) as DocumentNode)),
    })
  }

  async function answered(lane: FastLane, asked: GraphqlParams, request = requestOf(asked)): Promise<unknown> {
    return lane.answer(fromFetch(request), askedIn(Buffer.from(JSON.stringify(asked))) as GraphqlParams, {
      report,
      sender: 'a',
    })
  }

  function learned(lane: FastLane): FastLane {
    lane.learn(fromFetch(requestOf({})), { status: 200, headers: head, body: '' })
    return lane
  }

  const plain = { query: vaultQuery, variables: { address: addressOf(1), points: 2 } }

  test('answers plain successes, with the head that was learned', async () => {
    const lane = learned(laneOn([vaultQuery, several]))
    const { body, ...rest } = (await answered(lane, plain)) as { body: string }
    expect(rest).toEqual({ status: 200, headers: head })
    expect(JSON.parse(body)).toEqual({
      data: {
        vault: {
          valueUsd: 1_000.5,
          status: 'EARNING',
          positions: [{ id: 'a' }],
          equity: [
            { ts: midnight, netUsd: 0 },
            { ts: midnight + 60, netUsd: 0.376544 },
          ],
        },
      },
      extensions: { cost: { figure: expect.any(Number) as number, most: 1_000 } },
    })
    expect(await answered(lane, { query: several, operationName: 'Other' })).toMatchObject({ status: 200 })
  })

  test.each<[string, () => FastLane, GraphqlParams, Request?]>([
    ['a document that is not kept', () => laneOn([several]), plain],
    ['one that was not found valid', () => laneOn([vaultQuery], []), plain],
    ['a variable that is none', () => laneOn([vaultQuery]), { ...plain, variables: { address: '0x12' } }],
    ['no operation of that name', () => laneOn([several]), { query: several, operationName: 'Third' }],
    ['no name where there are several', () => laneOn([several]), { query: several }],
    ['a field that fails', () => laneOn([vaultQuery]), { ...plain, variables: { address: addressOf(1), points: 0 } }],
    [
      'what is over its bound',
      () => laneOn([vaultQuery]),
      { ...plain, variables: { address: addressOf(1), points: 900 } },
    ],
    ['variables that are a list', () => laneOn([several]), { query: several, operationName: 'One', variables: [] }],
    ['more than GraphQL has', () => laneOn([vaultQuery]), { ...plain, extensions: {} } as GraphqlParams],
    ['another way to be answered', () => laneOn([vaultQuery]), plain, requestOf(plain, { ...json, accept: '*/*' })],
    ['a query string', () => laneOn([vaultQuery]), plain, requestOf(plain, json, '?query={strategies{id}}')],
  ])('leaves to Yoga %s', async (_, laneOf, asked, request) => {
    expect(await answered(learned(laneOf()), asked, request)).toBeNull()
  })

  test('leaves to Yoga what it has learned no head for', async () => {
    expect(await answered(laneOn([vaultQuery]), plain)).toBeNull()
  })
})
