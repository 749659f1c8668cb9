import { expect, test } from 'vitest'
import { knownStrategies } from '../../../src/database/write/strategy.ts'
import { digestOf } from '../../../src/feed/fact/digest.ts'
import { checkFact } from '../../../src/feed/fact/parse.ts'
import { emptyDatabase } from '../../support/database.ts'
import { apply, midnight, strategy } from '../../support/world.ts'

test('of a strategy with many publications only the requested facts are read', async () => {
  const database = await emptyDatabase()
  const published = [0, 1, 2, 3].map((at) => strategy('one', midnight + at))
  await apply(database, [...published, strategy('two')])
  const requested = [
    { id: 'one', ts: midnight + 1 },
    { id: 'one', ts: midnight + 2 },
    { id: 'one', ts: midnight + 9 },
    { id: 'three', ts: midnight + 1 },
  ]
  const found = await database.transaction((transaction) => knownStrategies(transaction, requested))
  const digests = published.map((fact) => {
    const checked = checkFact(fact)
    return checked.ok ? digestOf(checked.fact) : null
  })
  expect(found.ids).toEqual(new Set(['one', 'two']))
  expect(found.revisions.toSorted((a, b) => a.ts - b.ts)).toEqual(
    [1, 2].map((at) => ({ strategyId: 'one', ts: midnight + at, digest: digests[at] })),
  )
})
