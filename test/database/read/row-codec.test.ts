import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowCodec } from '../../../src/database/read/row-codec.ts'
import { emptyDatabase } from '../../support/database.ts'

interface Row {
  readonly text: string
  readonly maybe: string | null
  readonly listed: string[]
  readonly amount: string
  readonly count: number | null
  readonly isEmpty: boolean
}

const { select, unpack } = rowCodec<Row>((c) => ({
  text: c.words('text'),
  maybe: c.wordsOrNull('maybe'),
  listed: c.list('array[text, maybe]::text[]'),
  amount: c.plain('count::numeric(38, 6)'),
  count: c.numberOrNull('nullif(count, 7)'),
  isEmpty: c.flag(`text = ''`),
}))

const statement = {
  name: 'packed_texts',
  text: `${select} from unnest($1::text[], $2::text[], $3::integer[]) as given(text, maybe, count)`,
  unpack,
}

/** Whatever PostgreSQL stores: all but NUL, what separates columns and what JSON escapes among it. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
  fc.string({ unit: fc.constantFrom('\t', '\n', '"', '\\', '\\t', ',', '{', 'é', '\u2028', '\u0001') }),
)

test('packed rows are the rows that went in, whatever text is in them', async () => {
  const database = await emptyDatabase()
  const row = fc.record({ text: anyText, maybe: anyText, count: fc.integer({ min: -9, max: 9 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
      const columns = [rows.map(({ text }) => text), rows.map(({ maybe }) => maybe), rows.map(({ count }) => count)]
      expect(await database.query<Row>(statement, columns)).toEqual(
        rows.map(({ text, maybe, count }) => ({
          text,
          maybe,
          listed: [text, maybe],
          amount: `${count}.000000`,
          count: count === 7 ? null : count,
          isEmpty: text === '',
        })),
      )
    }),
    { numRuns: 150 },
  )
})

test('a text that is not there is told from one that is empty', async () => {
  const database = await emptyDatabase()
  const text = `${select} from (values ('', null, 1), ('a', '', 7)) as given(text, maybe, count)`
  const rows = await database.query<Row>({ name: 'packed_nulls', text, unpack }, [])
  expect(rows.map(({ text, maybe, count }) => [text, maybe, count])).toEqual([
    ['', null, 1],
    ['a', '', null],
  ])
})
