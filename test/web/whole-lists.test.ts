import { CombinedError } from '@urql/core'
import { expect, test } from 'vitest'
import type { GatewayClient } from '../../src/web/data/gateway-client.ts'
import { readWholeList, readWholeSeries } from '../../src/web/data/lists/whole-lists.ts'
import { VaultLedgerDocument } from '../../src/web/documents.generated.ts'
import { addressOf } from '../support/world.ts'

const address = addressOf(1)

type Answer = (variables: Readonly<Record<string, unknown>>) => object | CombinedError

/** A client whose requests are answered by a function. */
function clientOf(answer: Answer): GatewayClient {
  return {
    query(_, variables, onResult) {
      const given = answer(variables as Readonly<Record<string, unknown>>)
      onResult(
        given instanceof CombinedError ? { data: undefined, error: given } : { data: given as never, error: undefined },
      )
      return () => undefined
    },
    subscribe: () => () => undefined,
    isStreaming: () => true,
  }
}

/** A gateway that thins series of more than 2,000 points to so many. */
function seriesOf(times: readonly number[]) {
  let requests = 0
  const client = clientOf(({ since, until }) => {
    requests++
    const inside = times.filter((ts) => ts >= Number(since ?? 0) && ts < Number(until ?? Infinity))
    const kept = inside.filter(
      (_, index) =>
        inside.length <= 2_000 ||
        Math.floor((index * 2_000) / inside.length) !== Math.floor(((index - 1) * 2_000) / inside.length),
    )
    return { vault: { equity: kept.map((ts) => ({ ts })) } }
  })
  return { client, requests: () => requests }
}

test('a series has all of its points, where no query gives so many', async () => {
  const times = Array.from({ length: 9_000 }, (_, index) => 1_000 + index * 60)
  const window = { address, since: null, until: null }
  const points = await readWholeSeries(seriesOf(times).client, window)
  expect(points.map(({ ts }) => ts)).toEqual(times)
  const part = await readWholeSeries(seriesOf(times).client, {
    address,
    since: times[10] ?? 0,
    until: times[8_000] ?? 0,
  })
  expect(part.map(({ ts }) => ts)).toEqual(times.slice(10, 8_000))
})

test('a series of one second ends', async () => {
  const { client, requests } = seriesOf(Array.from({ length: 3_000 }, () => 7))
  expect(await readWholeSeries(client, { address, since: null, until: null })).toHaveLength(2_000)
  expect(requests()).toBe(1)
})

const refusal = (seconds: string | null): CombinedError =>
  new CombinedError({
    graphQLErrors: ['Too many requests.'],
    response: new Response('', { headers: seconds === null ? {} : { 'retry-after': seconds } }),
  })

const ledgerOf = (client: GatewayClient) =>
  readWholeList(client, VaultLedgerDocument, { address, type: null, first: 2 }, ({ vault }) => vault?.events ?? null)

test('a list goes on where the gateway tells when it would answer', async () => {
  let asked = 0
  const client = clientOf(({ after }) => {
    if (++asked === 2) return refusal('0')
    const isLast = after === 'b'
    const nodes = (isLast ? ['c'] : ['a', 'b']).map((id) => ({ id }))
    return { vault: { events: { nodes, pageInfo: { hasNextPage: !isLast, endCursor: nodes.at(-1)?.id } } } }
  })
  expect((await ledgerOf(client)).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  expect(asked).toBe(3)
})

test('a list fails with a refusal for good, and with one that does not end', async () => {
  await expect(ledgerOf(clientOf(() => refusal(null)))).rejects.toThrow('Too many requests.')
  await expect(ledgerOf(clientOf(() => refusal('0')))).rejects.toThrow('Too many requests.')
})
