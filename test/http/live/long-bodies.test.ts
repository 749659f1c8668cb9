import { expect, test } from 'vitest'
import {
  AdmissionQueueFull,
  type AdmissionControl,
  type Ticket,
} from '../../../src/graphql/execution/admission/admission-control.ts'
import { EncodedResponse } from '../../../src/http/cache/encoded-response.ts'
import type { Exchange, HandlerResponse } from '../../../src/http/middleware.ts'
import { graphqlStream, type GraphqlStreamOptions } from '../../../src/http/live/operations/graphql-stream.ts'
import { preparationCosts } from '../../../src/limits.ts'

const unused = (): never => {
  throw new Error('Nothing is parsed or begun.')
}

/** Dependencies of a stream that fail if they are used before admission of the body. */
const others = {
  operations: {},
  connections: {},
  responses: {},
  resumptions: {},
  findDocument: unused,
  evaluate: unused,
  createLedgerStream: unused,
} as unknown as Omit<GraphqlStreamOptions, 'admission'>

function exchangeOf(body: string, onDisconnect: Exchange['onDisconnect']): Exchange {
  const headers: Record<string, string> = { accept: 'text/event-stream', 'content-type': 'application/json' }
  return {
    request: {
      method: 'POST',
      path: '/graphql',
      target: '/graphql',
      query: new URLSearchParams(),
      httpVersion: '1.1',
      rawHeaders: [],
      remoteAddress: null,
      header: (name) => headers[name] ?? null,
      headerRecord: () => headers,
    },
    trace: { id: 'one', report: unused, routed: unused, ended: unused } as unknown as Exchange['trace'],
    readBody: unused,
    onDisconnect,
    sender: 'someone',
    body: Buffer.from(body),
    senderHeaders: [],
    stateAtStart: null,
  }
}

const long = JSON.stringify({ query: 'subscription { ledger { type } }', variables: { text: 'x'.repeat(60_000) } })

test('the long body of an event stream is parsed by admission control, at the price of its bytes', async () => {
  const tickets: Ticket[] = []
  let leave = (): void => undefined
  const admission: Pick<AdmissionControl, 'runPreparation'> = {
    runPreparation(_, ticket) {
      tickets.push(ticket)
      return Promise.reject(new AdmissionQueueFull(1))
    },
  }
  const handle = graphqlStream({ ...others, admission })(unused)
  const reply: HandlerResponse = await handle(exchangeOf(long, (left) => void (leave = left)))
  expect(reply.status).toBe(503)
  expect(reply).toBeInstanceOf(EncodedResponse)
  const [ticket] = tickets
  expect(ticket).toMatchObject({ sender: 'someone', cost: Buffer.byteLength(long) * preparationCosts.bodyByte })
  expect(ticket?.signal?.aborted).toBe(false)
  leave()
  expect(ticket?.signal?.aborted).toBe(true)
})
