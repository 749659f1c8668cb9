import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { fuzz } from './fuzz.ts'
import { ignoreProgress } from './program-result.ts'

const requests = 1_500
const homes = prepareHomes()

test(`${requests} requests of any kind get no 5xx, no late answer, and leave no failure in the log`, async () => {
  const { measurements, violations } = await fuzz({
    homes,
    requests,
    seed: Date.now() % 1_000_000,
    reportProgress: ignoreProgress,
  })
  expect(violations, `by the seed ${String(measurements['seed'])}`).toEqual([])
  expect(measurements['requests']).toBe(requests)
}, 300_000)
