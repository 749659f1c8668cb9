import { setImmediate as iteration } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createFindDocument } from '../../../src/http/graphql/persisted-operations.ts'
import { EncodedResponse } from '../../../src/http/cache/encoded-response.ts'
import { type GraphqlStreamOptions, graphqlStream } from '../../../src/http/live/operations/graphql-stream.ts'
import type { Exchange } from '../../../src/http/middleware.ts'
import { liveLimits } from '../../../src/limits/live.ts'

test('a subscription is evaluated for its HTTP status only after the wait for the version of Last-Event-ID', async () => {
  const steps: string[] = []
  const body = JSON.stringify({ query: 'subscription { meta { version } }' })
  let reach = (): void => undefined
  const options = {
    limits: liveLimits,
    operations: {
      prepareSubscription: () => Promise.resolve({ prepared: {} }),
      checkSubscription: () => Promise.resolve({ name: 'meta', args: {}, variables: {} }),
      documents: { keep: () => () => undefined },
    },
    findDocument: createFindDocument(1_000),
    admission: { runPreparation: (work: () => unknown) => Promise.resolve(work()) },
    connections: { admit: () => ({ onRelease: () => undefined, release: () => undefined }) },
    responses: {
      isUpToDate: () => false,
      evaluator: {
        forOpening: () => {
          steps.push('evaluated')
          return Promise.resolve({ response: new EncodedResponse({ status: 400, headers: {}, body: '{}' }) })
        },
      },
    },
    resumptions: {
      awaitResumption: () =>
        new Promise((resolve) => {
          reach = () => {
            steps.push('reached')
            resolve('reached')
          }
        }),
    },
  } as unknown as GraphqlStreamOptions
  const headers: Readonly<Record<string, string>> = { accept: 'text/event-stream', 'content-type': 'application/json' }
  const opening = graphqlStream(options)(() => new EncodedResponse({ status: 500, headers: {}, body: '' }))({
    request: { method: 'POST', header: (name: string) => headers[name] ?? null },
    sender: 'one',
    body: Buffer.from(body),
    onDisconnect: () => undefined,
  } as unknown as Exchange)
  for (let left = 3; left > 0; left--) await iteration()
  reach()
  expect(await opening).toMatchObject({ status: 400 })
  expect(steps).toEqual(['reached', 'evaluated'])
})
