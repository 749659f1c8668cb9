import { expect, test } from 'vitest'
import { AdmissionQueueFull } from '../../../src/graphql/execution/admission/admission-control.ts'
import { createExecutor } from '../../../src/graphql/execution/executor.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { restLedgerStream } from '../../../src/http/live/ledger/rest-ledger-stream.ts'
import { createLiveOperations } from '../../../src/http/live/operations/live-operations.ts'
import type { Exchange } from '../../../src/http/middleware.ts'
import { defaultQueryLimits } from '../../../src/limits.ts'
import { liveLimits } from '../../../src/limits/live.ts'
import { addressOf } from '../../support/world.ts'

const unused = (): never => {
  throw new Error('Nothing is run or reported.')
}

test('a stream of rows that admission control refuses says when to try again', async () => {
  const admission = { run: unused, pause: unused, runPreparation: () => Promise.reject(new AdmissionQueueFull(1)) }
  const executor = createExecutor({ schema, limits: defaultQueryLimits, admission, runConsistently: unused })
  const slot = { release: () => undefined }
  const stream = restLedgerStream({
    admission,
    operations: createLiveOperations(executor, liveLimits, { sender: 'live', report: unused }),
    connections: { admit: () => slot } as unknown as Parameters<typeof restLedgerStream>[0]['connections'],
    createLedgerStream: unused,
  })
  const response = await stream({
    request: { method: 'GET', path: '/live/events', query: new URLSearchParams({ vault: addressOf(1) }) },
    sender: 'one',
    onDisconnect: () => undefined,
    trace: { report: unused },
  } as unknown as Exchange)
  expect(response).toMatchObject({ status: 503, headers: { 'retry-after': '2' } })
})
