import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { realFeed } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { kill } from './kill.ts'
import { ignoreProgress } from './program-result.ts'

const kills = 6
/** Facts of real markets, or the demo world if they are absent. */
const feed = realFeed === null ? {} : { feed: realFeed }
const homes = prepareHomes()

/** Fewer kills with several writers, whose threads take time to start. */
const killsWithJobs = 3

test.skipIf(postgresUrl === undefined)(
  `an ingest by several writers that is killed ${killsWithJobs} times leaves the same rows as one by a single writer`,
  async () => {
    const { violations } = await kill({
      homes,
      kills: killsWithJobs,
      jobs: 4,
      offset: Math.random(),
      reportProgress: ignoreProgress,
    })
    expect(violations).toEqual([])
  },
  600_000,
)

test(`an ingest that is killed ${kills} times leaves the same rows as an undisturbed one`, async () => {
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
