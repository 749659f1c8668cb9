import { expect, test } from 'vitest'
import { createAdmissionControl, type Ticket } from '../../../src/graphql/execution/admission/admission-control.ts'
import { EncodedResponse } from '../../../src/http/cache/encoded-response.ts'
import { vaultStream, type VaultStreamOptions } from '../../../src/http/live/vault-stream.ts'
import type { Exchange, HandlerResponse } from '../../../src/http/middleware.ts'
import { admissionLimits, preparationCosts } from '../../../src/limits.ts'
import { liveLimits } from '../../../src/limits/live.ts'
import { addressOf } from '../../support/world.ts'

/** Requests the snapshots of this number of vaults from a gateway with this preparation queue. */
async function follow(
  count: number,
  maxWaiting: number,
): Promise<{ reply: HandlerResponse; tickets: readonly Ticket[] }> {
  const tickets: Ticket[] = []
  const control = createAdmissionControl({ ...admissionLimits, maxWaiting })
  const admission: VaultStreamOptions['admission'] = {
    runPreparation: (work, ticket) => {
      tickets.push(ticket)
      return control.runPreparation(work, ticket)
    },
  }
  const options = {
    admission,
    connections: { admit: () => ({ sender: 'someone', release: () => undefined }) },
    responses: {
      isUpToDate: () => false,
      evaluator: {
        hasRoomForOpenings: () => true,
        forOpening: () => Promise.resolve({ response: new EncodedResponse({ status: 404, headers: {}, body: '{}' }) }),
      },
    },
    resumptions: { awaitResumption: () => Promise.resolve('reached') },
    limits: liveLimits,
  } as unknown as VaultStreamOptions
  const query = new URLSearchParams({ vault: Array.from({ length: count }, (_, index) => addressOf(index)).join() })
  const exchange = {
    request: { method: 'GET', path: '/live/vaults', query, header: () => null },
    sender: 'someone',
    onDisconnect: () => undefined,
  } as unknown as Exchange
  return { reply: await vaultStream(options)(exchange), tickets }
}

test('the addresses of a stream are hashed by admission control, at the price of one for each', async () => {
  const { reply, tickets } = await follow(100, 1)
  expect(reply.status).toBe(404)
  expect(tickets).toMatchObject([{ sender: 'someone', cost: 100 * preparationCosts.variableValue }])
})

test('a stream of many vaults is refused while too much waits, one of a few is not', async () => {
  expect((await follow(100, 0)).reply.status).toBe(503)
  expect((await follow(10, 0)).reply.status).toBe(404)
})
