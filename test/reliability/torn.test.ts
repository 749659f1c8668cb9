import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { silent } from './show.ts'
import { torn } from './torn.ts'

const answers = 2_000
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
