import { serverAudits } from 'graphql-http'
import { beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../src/http/app.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'

let app: App

beforeAll(async () => {
  ;({ app } = gatewayOn(await emptyDatabase()))
})

describe('GraphQL over HTTP', () => {
  const fetchFn = (url: string, init?: RequestInit): Promise<Response> => app.fetch(new Request(url, init))
  const audits = serverAudits({ url: 'http://gateway.test/graphql', fetchFn })

  test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))('%s: %s', async (_id, _name, audit) => {
    expect(await audit.fn()).toMatchObject({ status: 'ok' })
  })

  test('has audits', () => {
    expect(audits.length).toBeGreaterThan(50)
  })
})
