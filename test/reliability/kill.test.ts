import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { realFeed } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { kill } from './kill.ts'
import { ignoreProgress } from './program-result.ts'

const kills = 6
/** The demo world's where there are no real-market facts. */
const feed = realFeed === null ? {} : { feed: realFeed }
const homes = prepareHomes()

/** Fewer with several writers, which wait for the start of their threads too. */
const killsOfJobs = 3

test.skipIf(postgresUrl === undefined)(
  `a run of several writers killed at ${killsOfJobs} random moments ends as one of a single writer`,
  async () => {
    const { violations } = await kill({
      homes,
      kills: killsOfJobs,
      jobs: 4,
      offset: Math.random(),
      reportProgress: ignoreProgress,
    })
    expect(violations).toEqual([])
  },
  600_000,
)

test(`a run killed at ${kills} random moments and started again ends as one that never was`, async () => {
  const { measurements, violations } = await kill({
    homes,
    ...feed,
    kills,
    offset: Math.random(),
    reportProgress: ignoreProgress,
  })
  expect(violations).toEqual([])
  expect(measurements['kills']).toBe(kills)
}, 600_000)
