import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { kill } from './kill.ts'
import { silent } from './show.ts'

const kills = 6
const homes = prepareHomes()

test(`a run killed at ${kills} random moments and started again ends as one that never was`, async () => {
  const { figures, flaws } = await kill({ homes, kills, offset: Math.random(), say: silent })
  expect(flaws).toEqual([])
  expect(figures['kills']).toBe(kills)
}, 600_000)
