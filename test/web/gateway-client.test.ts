import { afterEach, expect, test, vi } from 'vitest'
import { createGatewayClient, type GatewayClient } from '../../src/web/data/gateway-client.ts'
import { VaultFeesDocument, type VaultFeesQuery } from '../../src/web/documents.generated.ts'
import { addressOf } from '../support/world.ts'

const variables = { address: addressOf(1) }

afterEach(() => vi.unstubAllGlobals())

/** Answers each request with another amount, from 1 on. */
function answering(): { readonly client: GatewayClient; readonly requests: RequestInit[] } {
  const requests: RequestInit[] = []
  vi.stubGlobal('fetch', (_url: string, init: RequestInit) => {
    requests.push(init)
    const body = `{"data":{"vault":{"id":"1","fees":{"taxedUsd":${requests.length}.10}}}}`
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'application/json' } }))
  })
  return { client: createGatewayClient('a-key-of-this-test'), requests }
}

test('a query has one result, that of its own request, as the text that was sent', async () => {
  const { client, requests } = answering()
  const results: (readonly [run: number, taxedUsd: string | undefined])[] = []
  for (let run = 1; run <= 3; run++) {
    await new Promise<void>((resolve) => {
      client.query(VaultFeesDocument, variables, ({ data }: { data: VaultFeesQuery | undefined }) => {
        results.push([run, data?.vault?.fees.taxedUsd])
        resolve()
      })
    })
  }
  expect(results).toEqual([
    [1, '1.10'],
    [2, '2.10'],
    [3, '3.10'],
  ])
  expect(requests).toHaveLength(3)
  expect(new Headers(requests[0]?.headers).get('authorization')).toBe('Bearer a-key-of-this-test')
})

test('a query that is ended has no result', async () => {
  const { client } = answering()
  const onResult = vi.fn()
  client.query(VaultFeesDocument, variables, onResult)()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(onResult).not.toHaveBeenCalled()
})
