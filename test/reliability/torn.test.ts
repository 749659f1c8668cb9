import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { silent } from './show.ts'
import { torn } from './torn.ts'

// PGlite, whose one connection the facts keep busy, gives some 20 answers a second.
const answers = postgresUrl === undefined ? 500 : 2_000
const homes = prepareHomes()

test(`none of ${answers} answers beside a busy feed is of two committed states, cached and not`, async () => {
  const { figures, flaws } = await torn({ homes, answers, say: silent })
  expect(flaws).toEqual([])
  for (const cached of ['cached', 'not cached']) {
    expect(figures[`answers, ${cached}`]).toBeGreaterThanOrEqual(answers)
    // Were few facts committed meanwhile, it would show nothing.
    expect(figures[`states that one vault was told in, ${cached}`]).toBeGreaterThan(10)
  }
}, 600_000)
