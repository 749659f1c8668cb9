import { beforeAll, describe, expect, test } from 'vitest'
import type { Decimal } from '../../src/domain/decimal.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { emptyDatabase } from '../support/database.ts'
import { exactJson } from '../support/exact-json.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { addressOf, apply, deposit, event, mark, midnight, opened, strategy } from '../support/world.ts'

type Amounts = Record<
  'valueUsd' | 'capitalInUsd' | 'capitalOutUsd' | 'netUsd' | 'strategyDeltaUsd' | 'marketDeltaUsd',
  Decimal
>

interface Course {
  readonly in: string
  readonly found: string
  readonly out: string
  /** Prices of USDC, at the mark and at the withdrawal. */
  readonly price: string
  readonly left: string
  readonly net: string
}

/** Histories of a vault: a deposit, a valuation, and a withdrawal at the same value. */
const courses: Readonly<Record<string, Course>> = {
  'that a float holds': { in: '100', found: '103.25', out: '3.25', price: '1.01', left: '100', net: '3.25' },
  'of a micro-dollar': {
    in: '0.000001',
    found: '0.000003',
    out: '0.000001',
    price: '1',
    left: '0.000002',
    net: '0.000002',
  },
  'that are lost': { in: '1000.1', found: '0.2', out: '0.1', price: '0.5', left: '0.1', net: '-999.9' },
  'of 17 digits': {
    in: '12345678901.234567',
    found: '98765432109.876543',
    out: '23456789012.345678',
    price: '1.000001',
    left: '75308643097.530865',
    net: '86419753208.641976',
  },
  'of 38 digits': {
    in: '12345678901234567890123456789012.123457',
    found: '12345678901234567890123456789012.123459',
    out: '0.000001',
    price: '0.999999',
    left: '12345678901234567890123456789012.123458',
    net: '0.000002',
  },
  'that end in zeros': {
    in: '12345678901234567890.5',
    found: '12345678901234567890.75',
    out: '0.25',
    price: '1',
    left: '12345678901234567890.5',
    net: '0.25',
  },
}

function factsOf(vault: string, course: Course): FactInput[] {
  const prices = { USDC: course.price }
  return [
    opened(vault, 'one'),
    deposit(vault, midnight + 10, course.in),
    mark(vault, midnight + 20, course.found, { prices }),
    event(vault, midnight + 30, { type: 'withdraw', amountUsd: course.out, valueBeforeUsd: course.found, prices }),
  ]
}

describe.each(Object.keys(courses))('amounts %s', (name) => {
  const course = courses[name] as Course
  const vault = addressOf(Object.keys(courses).indexOf(name) + 1)
  let gateway: TestGateway

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, [strategy('one'), ...factsOf(vault, course)])
    gateway = gatewayOn(database)
  })

  async function overRest<Data>(path: string): Promise<Data> {
    return exactJson(await (await gateway.get(`/vault/${vault}/${path}`)).text()) as Data
  }

  async function overGraphql<Data>(selection: string): Promise<Data> {
    const answer = await (await gateway.post(`{ vault(address: "${vault}") { ${selection} } }`)).text()
    return (exactJson(answer) as { data: { vault: Data } }).data.vault
  }

  test.each(['REST', 'GraphQL'])('satisfy both invariants in the text that is served over %s', async (way) => {
    const selection = 'valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd'
    const amounts = await (way === 'REST' ? overRest<Amounts>('snapshot') : overGraphql<Amounts>(selection))
    const { valueUsd, capitalInUsd, capitalOutUsd, netUsd, strategyDeltaUsd, marketDeltaUsd } = amounts
    expect(valueUsd.plus(capitalOutUsd).minus(capitalInUsd).toFixed()).toBe(netUsd.toFixed())
    expect(strategyDeltaUsd.plus(marketDeltaUsd).toFixed()).toBe(netUsd.toFixed())
    expect({
      left: valueUsd.toFixed(),
      in: capitalInUsd.toFixed(),
      out: capitalOutUsd.toFixed(),
      net: netUsd.toFixed(),
    }).toEqual({ left: course.left, in: course.in, out: course.out, net: course.net })
  })

  test.each(['REST', 'GraphQL'])('are in equity over %s as they were recorded', async (way) => {
    const points = await (way === 'REST'
      ? overRest<Amounts[]>('equity')
      : overGraphql<{ equity: Amounts[] }>('equity { valueUsd capitalInUsd capitalOutUsd }').then(
          ({ equity }) => equity,
        ))
    expect(points.map(({ valueUsd }) => valueUsd.toFixed())).toEqual([course.in, course.found, course.left])
    expect(points.map(({ capitalOutUsd }) => capitalOutUsd.toFixed())).toEqual(['0', '0', course.out])
  })

  test.each(['REST', 'GraphQL'])('are in the ledger over %s as they were transferred', async (way) => {
    type Rows = { amountUsd: Decimal }[]
    const rows = await (way === 'REST'
      ? overRest<Rows>('events')
      : overGraphql<{ events: { nodes: Rows } }>('events { nodes { amountUsd } }').then(({ events }) => events.nodes))
    expect(rows.map(({ amountUsd }) => amountUsd.toFixed())).toEqual([course.out, course.in])
  })

  test('sum to netUsd as the changes of equity, too', async () => {
    type Points = { equity: { netUsd: Decimal; changeUsd: Decimal | null }[] }
    const { equity } = await overGraphql<Points>('equity { netUsd changeUsd }')
    const [first, second, third] = equity
    expect(equity.map(({ netUsd }) => netUsd.toFixed())).toEqual(['0', course.net, course.net])
    expect([first?.changeUsd, second?.changeUsd?.toFixed(), third?.changeUsd?.toFixed()]).toEqual([
      null,
      course.net,
      '0',
    ])
  })
})
