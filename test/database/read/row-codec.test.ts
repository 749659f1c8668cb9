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

const { select, decode } = rowCodec<Row>((c) => ({
  text: c.text('text'),
  maybe: c.textOrNull('maybe'),
  listed: c.textList('array[text, maybe]::text[]'),
  amount: c.raw('count::numeric(38, 6)'),
  count: c.numberOrNull('nullif(count, 7)'),
  isEmpty: c.boolean(`text = ''`),
}))

const statement = {
  name: 'encoded_texts',
  text: `${select} from unnest($1::text[], $2::text[], $3::integer[]) as given(text, maybe, count)`,
  decode,
}

/** Any text that PostgreSQL stores, that is without NUL, often with column separators and JSON escapes. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', '')),
  fc.string({ unit: fc.constantFrom('\t', '\n', '"', '\\', '\\t', ',', '{', 'é', '\u2028', '\u0001') }),
)

test('decoded rows equal the encoded ones, for any text', async () => {
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

test('null and the empty text are distinct', async () => {
  const database = await emptyDatabase()
  const text = `${select} from (values ('', null, 1), ('a', '', 7)) as given(text, maybe, count)`
  const rows = await database.query<Row>({ name: 'encoded_nulls', text, decode }, [])
  expect(rows.map(({ text, maybe, count }) => [text, maybe, count])).toEqual([
    ['', null, 1],
    ['a', '', null],
  ])
})
