import { expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { prepareHomes } from '../support/home.ts'
import { ignoreProgress } from './program-result.ts'
import { versions } from './versions.ts'

const responses = 2_000
const homes = prepareHomes()

test(
  'no response has a version newer than its content, and versions never decrease on a connection',
  { timeout: 300_000 },
  async () => {
    const workers = postgresUrl === undefined ? 1 : 2
    const { measurements, violations } = await versions({ homes, responses, workers, reportProgress: ignoreProgress })
    expect(violations).toEqual([])
    expect(measurements['responses']).toBeGreaterThanOrEqual(responses)
  },
)
