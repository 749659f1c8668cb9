import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { ignoreProgress } from './program-result.ts'
import { versions } from './versions.ts'

const answers = 2_000
const homes = prepareHomes()

test(
  'no answer tells a version that is newer than its content, and versions never go back on a connection',
  { timeout: 300_000 },
  async () => {
    const workers = postgresUrl === undefined ? 1 : 2
    const { measurements, violations } = await versions({ homes, answers, workers, reportProgress: ignoreProgress })
    expect(violations).toEqual([])
    expect(measurements['responses']).toBeGreaterThanOrEqual(answers)
  },
)
