import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { ignoreProgress } from './program-result.ts'
import { rotation } from './rotation.ts'

const feeds = 16
/** Among its feeds are some that lost lines before files were ordered by when they were begun. */
const seed = 27
const homes = prepareHomes()

// The engine of the database makes no difference to the reading of files.
test.skipIf(postgresUrl !== undefined)(
  `${feeds} feeds that are rotated at random, while what follows them is stopped and started, lose no line`,
  async () => {
    const { measurements, violations } = await rotation({ homes, feeds, seed, reportProgress: ignoreProgress })
    expect(violations).toEqual([])
    expect(measurements['rotations']).toBeGreaterThan(feeds)
  },
  600_000,
)
