import { expect, expectTypeOf, test } from 'vitest'
import type { ModelColumns, SnakeCase, SqlTypeOf, Tables } from '../../../src/database/prisma/columns.ts'
import { getDatamodel } from '../../../src/database/prisma/generated/pothos.ts'
import { modelCodec } from '../../../src/database/read/row-codec.ts'
import { appendSet, insertSet } from '../../../src/database/write/sets.ts'
import { emptyDatabase } from '../../support/database.ts'

interface StoredColumn {
  readonly table: string
  readonly column: string
  readonly isRequired: boolean
}

/** The rule of {@link SnakeCase}. */
const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

test('tables and columns are named as the models and fields of the datamodel', async () => {
  const database = await emptyDatabase()
  const stored = await database.query<StoredColumn>(
    {
      name: 'stored_columns',
      text: `select relname::text as table, attname::text as column, attnotnull as "isRequired"
        from pg_attribute join pg_class on pg_class.oid = attrelid
        where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> '_prisma_migrations'
          and attnum > 0 and not attisdropped`,
    },
    [],
  )
  const models = Object.entries(getDatamodel().datamodel.models)
  const named = models.flatMap(([model, { fields }]) =>
    fields
      .filter(({ kind }) => kind !== 'object')
      .map(({ name, isRequired, isList }) => ({
        table: snakeCase(model).slice(1),
        column: snakeCase(name),
        // Prisma creates lists without NOT NULL, and reads NULL as an empty one.
        isRequired: isRequired && !isList,
      })),
  )
  const key = ({ table, column }: StoredColumn): string => `${table}.${column}`
  const sorted = (columns: readonly StoredColumn[]) => [...columns].sort((a, b) => (key(a) < key(b) ? -1 : 1))
  expect(sorted(stored)).toEqual(sorted(named))
  expect(models.length).toBeGreaterThan(20)
})

test('names follow the same rule at compile time', () => {
  expectTypeOf<SnakeCase<'feesHighWaterUsd'>>().toEqualTypeOf<'fees_high_water_usd'>()
  expectTypeOf<'strategy_day'>().toExtend<keyof Tables>()
  expectTypeOf<'strategyDay'>().not.toExtend<keyof Tables>()
  expect(snakeCase('feesHighWaterUsd')).toBe('fees_high_water_usd')
})

test('a codec accepts the columns of its models only, each of its type', () => {
  const { select } = modelCodec<
    { vault: Tables['vault']; row: Tables['ledger_row'] },
    { status: Tables['vault']['status']; hash: string; phase: 'planting' | 'exiting' | null; amount: string }
  >((c) => ({
    status: c.raw('vault.status'),
    hash: c.raw(`encode(row.tx_hash, 'hex')`),
    phase: c.rawOrNull('vault.phase'),
    amount: c.raw('vault.value_usd'),
  }))
  expect(select).toContain(
    `concat_ws(E'\\t', vault.status, encode(row.tx_hash, 'hex'), coalesce((vault.phase)::text, '')`,
  )
})

test('a codec accepts no other column, and none of another type', () => {
  type Columns = ModelColumns<{ vault: Tables['vault']; '': Tables['strategy'] }>
  type Taken<Method extends Exclude<keyof Columns, 'key'>> = Parameters<Columns[Method]>[0]
  // A field that was renamed, the name of a field, another alias, and bytes, which are sent as digits.
  expectTypeOf<'vault.value' | 'vault.valueUsd' | 'owned.owner' | 'vault.digest'>()
    .exclude<Taken<'raw'>>()
    .toEqualTypeOf<'vault.value' | 'vault.valueUsd' | 'owned.owner' | 'vault.digest'>()
  expectTypeOf<'vault.chain_id'>().toExtend<Taken<'numberOrNull'>>()
  expectTypeOf<'vault.chain_id'>().not.toExtend<Taken<'number'>>()
  expectTypeOf<'vault.suspension_reason'>().toExtend<Taken<'textOrNull'>>()
  expectTypeOf<'vault.suspension_reason'>().not.toExtend<Taken<'text'>>()
  expectTypeOf<'vault.value_usd'>().toExtend<Taken<'raw'>>()
  expectTypeOf<'vault.value_usd'>().not.toExtend<Taken<'number'>>()
  expectTypeOf<'live_apr'>().not.toExtend<Taken<'boolean'>>()
  expectTypeOf<'name'>().not.toExtend<Taken<'textList'>>()
  // @ts-expect-error a statement of a column that is none
  expect(() => insertSet('vault', { value: 'numeric' })).not.toThrow()
  // @ts-expect-error a statement of a column of another type
  expect(() => insertSet('vault', { value_usd: 'text' })).not.toThrow()
  // @ts-expect-error a COPY into a column that is none
  expect(() => appendSet('vault', { value: 'numeric' })).not.toThrow()
  // @ts-expect-error a COPY of lists, which have a form of their own
  expect(() => appendSet('universe_pair', { venues: 'text[]' })).not.toThrow()
})

test('the SQL type of a column follows from the type of its field', () => {
  expectTypeOf<SqlTypeOf<Tables['vault']['chainId']>>().toEqualTypeOf<'bigint'>()
  expectTypeOf<SqlTypeOf<Tables['vault']['layoutDigest']>>().toEqualTypeOf<'bytea'>()
  expectTypeOf<SqlTypeOf<Tables['vault']['valueUsd']>>().toEqualTypeOf<'numeric'>()
  expectTypeOf<SqlTypeOf<Tables['vault']['suspensionReason']>>().toEqualTypeOf<'text'>()
  expectTypeOf<SqlTypeOf<Tables['vault']['feesTold']>>().toEqualTypeOf<'boolean'>()
  expectTypeOf<SqlTypeOf<Tables['strategy_pair']['venues']>>().toEqualTypeOf<'text[]'>()
})
