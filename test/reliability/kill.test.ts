import { expect, test } from 'vitest'
import { realFeed } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { kill } from './kill.ts'
import { silent } from './show.ts'

const kills = 20
/** The demo world's where there are no real-market facts. */
const feed = realFeed === null ? {} : { feed: realFeed }
const homes = prepareHomes()

test(`a run killed at ${kills} random moments and started again ends as one that never was`, async () => {
  const { figures, flaws } = await kill({ homes, ...feed, kills, offset: Math.random(), say: silent })
  expect(flaws).toEqual([])
  expect(figures['kills']).toBe(kills)
}, 600_000)
