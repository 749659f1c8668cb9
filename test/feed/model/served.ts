import { parse } from 'lossless-json'
import { expect } from 'vitest'
import type { TestGateway } from '../../support/gateway.ts'
import { catalogueOf, ledgerOf, pointsOf, snapshotOf, ticksOf, universeOf } from './answers.ts'
import { plainText } from './rational.ts'
import { figuresOf } from './returns-model.ts'
import type { WorldModel } from './world-model.ts'

/** Reads JSON with each number as the text of its decimal. */
export function readExact(text: string): unknown {
  return parse(text, undefined, { parseNumber: plainText })
}

async function rest(
  gateway: TestGateway,
  path: string,
): Promise<{ status: number; body: unknown; next: string | null }> {
  const response = await gateway.get(path)
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? null
  return { status: response.status, body: readExact(await response.text()), next }
}

async function graphql(
  gateway: TestGateway,
  query: string,
  variables: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const { data, errors } = readExact(await (await gateway.post(query, variables)).text()) as Record<
    string,
    Record<string, unknown>
  >
  expect(errors).toBeUndefined()
  return data ?? {}
}

/** Compares all responses with the model. */
export async function expectServed(gateway: TestGateway, model: WorldModel): Promise<void> {
  for (const address of model.addresses) {
    await expectNow(gateway, model, address)
    await expectPast(gateway, model, address)
    await expectWindows(gateway, model, address)
  }
  await expectCatalogue(gateway, model)
}

const vaultFields = `
  vault: address owner status strategy: strategyId valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd
  positions { id: positionId pool { a b venue feeTier } range { lower upper current } inRange pendingRewardsUsd }
  fees { contributedUsd withdrawnUsd taxedUsd highWaterUsd } suspension { reason since exitsAvailable } updatedAt`
const otherFields = `
  ticks: positions { positionId ticks { lower upper current } } chainId
  equity(points: 2000) { ts valueUsd capitalInUsd capitalOutUsd netUsd marketDeltaUsd strategyDeltaUsd }
  events(first: 1000) { totalCount nodes { txHash logIndex block ts type amountUsd positionId reason } }`
const nowQuery = `query ($address: Address!) { now: vault(address: $address) { ${vaultFields} } more: vault(address: $address) { ${otherFields} } }`
const pastQuery = `query ($address: Address!, $at: UnixTime!) {
  now: vault(address: $address, at: $at) { ${vaultFields} } more: vault(address: $address, at: $at) { ${otherFields} } }`

async function expectNow(gateway: TestGateway, model: WorldModel, address: string): Promise<void> {
  const { body } = await rest(gateway, `/vault/${address.toLowerCase()}/snapshot`)
  expect(body).toEqual(snapshotOf(model, address))
  expect(await graphql(gateway, nowQuery, { address })).toEqual(inGraphql(model, address))
}

function inGraphql(model: WorldModel, address: string, at?: number): object {
  const snapshot = snapshotOf(model, address, at) as { status: string } | null
  const vault = model.vault(address, at)
  if (snapshot === null || vault === undefined) return { now: null, more: null }
  const chainId = model.historyOf(address)?.[0].chainId
  const nodes = ledgerOf(model, address, at).map((row) => ({ ...row, type: row['type']?.toUpperCase() }))
  return {
    now: { ...snapshot, status: snapshot.status.toUpperCase() },
    more: {
      ticks: ticksOf(vault),
      chainId: chainId === undefined ? null : String(chainId),
      equity: pointsOf(model, address, at),
      events: { totalCount: String(nodes.length), nodes },
    },
  }
}

/** Compares the vault at each second of a change and at adjacent ones; by GraphQL, which takes longer, at some of them. */
async function expectPast(gateway: TestGateway, model: WorldModel, address: string): Promise<void> {
  for (const [index, at] of secondsOf(model, address).entries()) {
    const { status, body } = await rest(gateway, `/vault/${address}/snapshot?at=${at}`)
    const wanted = snapshotOf(model, address, at)
    expect(status).toBe(wanted === null ? 404 : 200)
    if (wanted !== null) expect(body, `at ${at}`).toEqual(wanted)
    if (index % 4 !== 0) continue
    expect(await graphql(gateway, pastQuery, { address, at }), `at ${at}`).toEqual(inGraphql(model, address, at))
  }
}

function secondsOf(model: WorldModel, address: string): number[] {
  const times = (model.historyOf(address) ?? []).map(({ ts }) => ts)
  return [...new Set(times.flatMap((ts) => [ts - 1, ts, ts + 1]))].filter((ts) => ts >= 0)
}

async function expectWindows(gateway: TestGateway, model: WorldModel, address: string): Promise<void> {
  const seconds = secondsOf(model, address)
  const [points, rows] = [pointsOf(model, address), ledgerOf(model, address)]
  for (let at = 0; at + 1 < seconds.length; at += 5) {
    const [since = 0, until = 0] = [seconds[at], seconds[Math.min(seconds.length - 1, at * 2 + 1)]]
    const isWithin = ({ ts = '' }: Record<string, string | null>): boolean => Number(ts) >= since && Number(ts) < until
    const equity = await rest(gateway, `/vault/${address}/equity?since=${since}&until=${until}&points=2000`)
    const wanted = points
      .filter(isWithin)
      .map(({ ts, valueUsd, capitalInUsd, capitalOutUsd }) => ({ ts, valueUsd, capitalInUsd, capitalOutUsd }))
    expect(equity.body).toEqual(wanted)
    for (const types of [['deposit'], ['plant', 'exit', 'fee'], []]) {
      const ofType = rows.filter((row) => isWithin(row) && (types.length === 0 || types.includes(row['type'] ?? '')))
      const type = types.length === 0 ? '' : `&type=${types.join()}`
      expect(await allPages(gateway, `/vault/${address}/events?since=${since}&until=${until}&limit=3${type}`)).toEqual(
        ofType,
      )
      const query = `query ($address: Address!, $type: [EventType!], $since: UnixTime, $until: UnixTime) {
        vault(address: $address) { events(type: $type, since: $since, until: $until, first: 1) { totalCount } } }`
      const typeFilter = types.length === 0 ? null : types.map((one) => one.toUpperCase())
      const counted = await graphql(gateway, query, { address, since, until, type: typeFilter })
      expect(counted).toEqual({ vault: { events: { totalCount: String(ofType.length) } } })
    }
  }
}

async function allPages(gateway: TestGateway, first: string): Promise<unknown[]> {
  const rows: unknown[] = []
  for (let path: string | null = first; path !== null;) {
    const { body, next } = await rest(gateway, path)
    rows.push(...(body as unknown[]))
    path = next === null ? null : next.replace(/^https?:\/\/[^/]*/, '')
  }
  return rows
}

async function expectCatalogue(gateway: TestGateway, model: WorldModel): Promise<void> {
  const { assets, pairs } = universeOf(model)
  expect((await rest(gateway, '/universe')).body).toEqual(assets)
  expect((await rest(gateway, '/universe/pairs')).body).toEqual(pairs)
  const { strategies } = await graphql(
    gateway,
    `
      {
        strategies {
          id
          name
          tagline
          description
          pairs {
            a
            b
            venues
          }
          liveApr
          sigma
          vaults {
            totalCount
          }
        }
      }
    `,
    {},
  )
  const byRest = (await rest(gateway, '/strategies')).body as Record<string, unknown>[]
  expect((strategies as Record<string, unknown>[]).map(({ vaults: _, ...rest }) => rest)).toEqual(byRest)
  expect(byRest.map(withoutFigures)).toEqual(catalogueOf(model))
  for (const { id, liveApr, sigma } of byRest as { id: string; liveApr: string | null; sigma: string | null }[]) {
    const wanted = figuresOf(model, id)
    expectClose(liveApr, wanted.liveApr, `liveApr of ${id}`)
    expectClose(sigma, wanted.sigma, `sigma of ${id}`)
  }
}

function expectClose(found: string | null, wanted: number | null, what: string): void {
  if (found === null || wanted === null) expect(found, what).toBe(wanted)
  else expect(Math.abs(Number(found) - wanted), what).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(wanted)))
}

function withoutFigures(strategy: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(strategy).filter(([key]) => key !== 'liveApr' && key !== 'sigma'))
}
