import { expect, test } from 'vitest'
import type { Ticket } from '../../../src/graphql/execution/admission/admission-control.ts'
import { createExecutor } from '../../../src/graphql/execution/executor.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { createLiveOperations } from '../../../src/http/live/operations/live-operations.ts'
import type { Exchange } from '../../../src/http/middleware.ts'
import { defaultQueryLimits } from '../../../src/limits.ts'
import { liveLimits } from '../../../src/limits/live.ts'

const unused = (): never => {
  throw new Error('Nothing is run or reported.')
}

test('the preparation of a subscription is cancelled when its client leaves', async () => {
  const tickets: Ticket[] = []
  const admission = {
    run: unused,
    pause: unused,
    runPreparation: (_: unknown, ticket: Ticket): Promise<never> => {
      tickets.push(ticket)
      return new Promise(() => undefined)
    },
  }
  const executor = createExecutor({ schema, limits: defaultQueryLimits, admission, runConsistently: unused })
  let leave = (): void => undefined
  const exchange = { sender: 'one', onDisconnect: (given: () => void) => (leave = given), trace: { report: unused } }
  void createLiveOperations(executor, liveLimits, { sender: 'live', report: unused }).prepareSubscription(
    'subscription { ledger { type } }',
    {},
    exchange as unknown as Exchange,
  )
  await Promise.resolve()
  expect(tickets.map(({ signal }) => signal?.aborted)).toEqual([false])
  leave()
  expect(tickets.map(({ signal }) => signal?.aborted)).toEqual([true])
})
