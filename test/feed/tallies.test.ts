import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countLedger } from '../../src/database/read/ledger.ts'
import { countVaults } from '../../src/database/read/vault-lists/count.ts'
import { anyVault } from '../../src/database/read/vault-lists/filter.ts'
import type { Database } from '../../src/database/database.ts'
import { largeOwnerVaults } from '../../src/database/write/vaults/vault-tally.ts'
import { type EventType, eventTypes } from '../../src/domain/ledger.ts'
import { vaultStatuses } from '../../src/domain/vault.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { emptyDatabase } from '../support/database.ts'
import { addressOf, apply, event, feedOf, mark, midnight, position, strategy } from '../support/world.ts'

const strategies = ['one', 'two']
const owners = [addressOf(901), addressOf(902)]
const feeds = 3
const vaultsEach = 12

/** Returns facts of a feed with vaults of its own: many events of one second, unordered blocks, and changing statuses. */
function factsOf(feed: number, steps: readonly Step[]): FactInput[] {
  const vaults = Array.from({ length: vaultsEach }, (_, index) => addressOf(1 + feed * vaultsEach + index))
  const opened = vaults.map((vault, index): FactInput => {
    const [owner = '', strategyId = ''] = [owners[index % 3 === 0 ? 1 : 0], strategies[index % 2]]
    return { kind: 'vault', ts: midnight, vault, owner, strategy: strategyId }
  })
  let ts = midnight
  const changes = steps.map(({ vault: at, seconds, block, what }, index): FactInput => {
    const vault = vaults[at % vaultsEach] ?? ''
    ts += seconds
    if (what === 'owner') return { kind: 'owner', ts, vault, owner: owners[index % 2] ?? '' }
    if (what === 'mark')
      return mark(vault, ts, String(100 + index), { positions: [position('p', index % 2 ? '100' : '120')] })
    const type = {
      type: what,
      ...(what === 'suspend' ? { reason: 'halt' } : {}),
      ...(what === 'fee' ? { amountUsd: '1' } : {}),
    }
    const id = (feed * 100_000 + index).toString(16).padStart(64, '0')
    return { ...event(vault, ts, type as never), block, txHash: `0x${id}`, logIndex: index } as FactInput
  })
  const seen = new Set<string>()
  const isNew = (name: string): boolean => !seen.has(name) && seen.add(name).size > 0
  return [
    ...opened,
    ...changes.filter(
      (fact) => !(fact.kind === 'mark' || fact.kind === 'owner') || isNew(`${fact.kind} ${fact.vault} ${fact.ts}`),
    ),
  ]
}

interface Step {
  readonly vault: number
  readonly seconds: number
  readonly block: number
  readonly what: 'mark' | 'fee' | 'suspend' | 'resume' | 'owner'
}

const step = fc.record<Step>({
  // Most events are of one vault, so that its ledger is long.
  vault: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(vaultsEach - 1) }),
  seconds: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(3) }),
  block: fc.nat(1_000),
  what: fc.constantFrom('mark', 'fee', 'fee', 'fee', 'suspend', 'resume', 'owner'),
})
const world = fc.tuple(...Array.from({ length: feeds }, () => fc.array(step, { minLength: 80, maxLength: 160 })))

/** Returns the differences between tallies and rows, read by one statement and so at one data version. */
async function differences(database: Database): Promise<string[]> {
  const sums = vaultStatuses.map((status) => `sum(${status})::integer`).join(', ')
  const counts = vaultStatuses.map((status) => `count(*) filter (where status = '${status}')::integer`).join(', ')
  const types = eventTypes.join(', ')
  const ofTypes = eventTypes.map((type) => `count(*) filter (where type = '${type}')::integer`).join(', ')
  const differ = (table: string, tallies: string, rows: string): string =>
    `select '${table} ' || t::text as difference from ((${tallies} except ${rows}) union all (${rows} except ${tallies})) t`
  const text = [
    differ(
      'strategy',
      `select strategy_id, ${sums} from strategy_tally group by 1`,
      `select strategy_id, ${counts} from vault group by 1`,
    ),
    differ(
      'owner',
      `select owner, strategy_id, large, ${sums} from owner_tally group by 1, 2, 3`,
      `select owner, strategy_id, count(*) filter (where owner_is_large)::integer, ${counts} from vault group by 1, 2`,
    ),
    differ(
      'ledger',
      `(select distinct on (vault_id) vault_id, ${types} from ledger_tally order by vault_id, ts desc)`,
      `select vault_id, ${ofTypes} from ledger_row group by 1`,
    ),
  ].join(' union all ')
  const rows = await database.query<{ difference: string }>({ name: 'tally_differences', text }, [])
  return rows.map(({ difference }) => difference)
}

describe('tallies', () => {
  test('agree with the rows while several feeds are applied at once, and afterwards in every window', async () => {
    await fc.assert(
      fc.asyncProperty(world, fc.integer({ min: 30, max: 200 }), async (all, together) => {
        const database = await emptyDatabase()
        await apply(
          database,
          strategies.map((id) => strategy(id)),
        )
        const progress = { isDone: false }
        const ingesting = Promise.all(
          all.map((steps, feed) =>
            ingest({ database, source: { ...feedOf(factsOf(feed, steps), together), name: `/${feed}` } }),
          ),
        ).finally(() => (progress.isDone = true))
        while (!progress.isDone) {
          expect(await differences(database)).toEqual([])
          await wait(100)
        }
        for (const { rejected } of await ingesting) expect(rejected).toEqual({})
        expect(await differences(database)).toEqual([])
        await agreesInWindows(database)
      }),
      { numRuns: 2, endOnFailure: true },
    )
  })

  test.each([1, 1_000])(
    'count an owner as large by the vaults it has, not by those it had, %i lines at a time',
    async (together) => {
      const database = await emptyDatabase()
      const vault = addressOf(1)
      const opened: FactInput = { kind: 'vault', ts: midnight, vault, owner: owners[0] ?? '', strategy: 'one' }
      const changes = Array.from({ length: 4 * largeOwnerVaults }, (_, index): FactInput => {
        return { kind: 'owner', ts: midnight + 1 + index, vault, owner: owners[(index + 1) % 2] ?? '' }
      })
      await ingest({ database, source: feedOf([strategy('one'), opened, ...changes], together) })
      const large = { name: 'large_owners', text: 'select owner, owner_is_large as "isLarge" from vault' }
      expect(await database.query(large, [])).toEqual([{ owner: owners[0], isLarge: false }])
    },
  )
})

async function agreesInWindows(database: Database): Promise<void> {
  const text = `select address as vault, ts::integer as ts, type::text as type
    from ledger_row join vault on id = vault_id order by 1, 2`
  const rows = await database.query<{ vault: string; ts: number; type: EventType }>({ name: 'every_row', text }, [])
  const vaults = [...new Set(rows.map(({ vault }) => vault))]
  const times = [...new Set(rows.map(({ ts }) => ts))].filter((_, index) => index % 7 === 0)
  for (const since of [0, ...times.slice(0, 2)]) {
    for (const until of [...times.slice(-2), midnight * 2].filter((time) => time >= since)) {
      for (const types of [null, ['fee'], ['suspend', 'resume']] satisfies (EventType[] | null)[]) {
        const counted = await countLedger(database, vaults, { types, since, until })
        const expected = vaults.map((vault) => ({
          vault,
          count: rows.filter((row) => {
            const isOfType = types === null || (types as EventType[]).includes(row.type)
            return row.vault === vault && row.ts >= since && row.ts < until && isOfType
          }).length,
        }))
        expect(counted.map(({ vault, count }) => ({ vault, count }))).toEqual(expected)
      }
    }
  }
  const [{ count } = { count: 0 }] = await countVaults(database, [''], {
    ...anyVault,
    owner: [owners[0] ?? ''],
  })
  const owned = await database.query<{ count: number }>(
    { name: 'owned', text: 'select count(*)::integer as count from vault where owner = $1' },
    [owners[0] ?? ''],
  )
  expect(count).toBe(owned[0]?.count)
}
