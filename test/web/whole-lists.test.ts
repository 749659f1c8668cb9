import { CombinedError } from '@urql/core'
import { describe, expect, test } from 'vitest'
import type { QueryClient } from '../../src/web/data/gateway-client.ts'
import { readVaultTable } from '../../src/web/data/lists/vault-table.ts'
import { readWholeList, readWholeSeries } from '../../src/web/data/lists/whole-lists.ts'
import { Direction, VaultLedgerDocument, VaultOrderField } from '../../src/web/documents.generated.ts'
import { addressOf } from '../support/world.ts'

const address = addressOf(1)

type Answer = (variables: Readonly<Record<string, unknown>>) => object | CombinedError

/** Returns a client whose requests are answered by a function. */
function clientOf(answer: Answer): QueryClient {
  return {
    query(_, variables, onResult) {
      const result = answer(variables as Readonly<Record<string, unknown>>)
      onResult(
        result instanceof CombinedError
          ? { data: undefined, error: result }
          : { data: result as never, error: undefined },
      )
      return () => undefined
    },
  }
}

/** Simulates a gateway that downsamples series to 2,000 points. */
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

test('a series has all of its points, also more than one query returns', async () => {
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

const ledgerOf = (client: QueryClient) =>
  readWholeList(client, VaultLedgerDocument, { address, type: null, first: 2 }, ({ vault }) => vault?.events ?? null)

test('a list continues after Retry-After', async () => {
  let requests = 0
  const client = clientOf(({ after }) => {
    if (++requests === 2) return refusal('0')
    const isLast = after === 'b'
    const nodes = (isLast ? ['c'] : ['a', 'b']).map((id) => ({ id }))
    return { vault: { events: { nodes, pageInfo: { hasNextPage: !isLast, endCursor: nodes.at(-1)?.id } } } }
  })
  expect((await ledgerOf(client)).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  expect(requests).toBe(3)
})

test('a list fails with a permanent refusal, and with one that does not end', async () => {
  await expect(ledgerOf(clientOf(() => refusal(null)))).rejects.toThrow('Too many requests.')
  await expect(ledgerOf(clientOf(() => refusal('0')))).rejects.toThrow('Too many requests.')
})

describe('the table of vaults', () => {
  const amounts = ['0.5', '10', '-0.25', '9', '10', '12345678901234.000001', '12345678901234.000002']
  const vaults = amounts.map((valueUsd, index) => ({ address: addressOf(index), valueUsd, updatedAt: 100 - index }))

  /** Simulates a gateway with pages of two vaults, whose values change after each page. */
  function movingGateway(): QueryClient {
    let rows = vaults.map((vault, index) => ({ ...vault, valueUsd: String(index) }))
    return clientOf(({ after, orderBy }) => {
      const { field, direction } = orderBy as { field: string; direction: string }
      const place = (row: (typeof rows)[number]): string => (field === 'ADDRESS' ? row.address : row.valueUsd)
      const sorted = rows.toSorted((a, b) => (place(a) < place(b) ? -1 : 1) * (direction === 'ASC' ? 1 : -1))
      const from = sorted.findIndex(({ address: one }) => one === after) + 1
      const nodes = sorted.slice(from, from + 2)
      const pageInfo = { hasNextPage: from + 2 < rows.length, endCursor: nodes.at(-1)?.address ?? null }
      rows = rows.map((row) => ({ ...row, valueUsd: String(9 - Number(row.valueUsd)) }))
      return { vaults: { nodes, pageInfo } }
    })
  }

  test('has each vault once, also if their order changes while it is read', async () => {
    const orderBy = { field: VaultOrderField.ValueUsd, direction: Direction.Desc }
    const rows = await readVaultTable(movingGateway(), { orderBy })
    expect(rows.map((row) => row.address).toSorted()).toEqual(vaults.map((vault) => vault.address))
  })

  test.each([
    [VaultOrderField.ValueUsd, Direction.Desc, [6, 5, 4, 1, 3, 0, 2]],
    [VaultOrderField.ValueUsd, Direction.Asc, [2, 0, 3, 1, 4, 5, 6]],
    [VaultOrderField.Address, Direction.Desc, [6, 5, 4, 3, 2, 1, 0]],
    [VaultOrderField.UpdatedAt, Direction.Asc, [6, 5, 4, 3, 2, 1, 0]],
  ])('is in the order by %s %s of the server', async (field, direction, order) => {
    const pageInfo = { hasNextPage: false, endCursor: null }
    const client = clientOf(() => ({ vaults: { nodes: vaults, pageInfo } }))
    const rows = await readVaultTable(client, { orderBy: { field, direction } })
    expect(rows.map((row) => row.address)).toEqual(order.map((index) => vaults[index]?.address))
  })
})
