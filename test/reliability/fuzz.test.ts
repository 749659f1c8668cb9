import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { fuzz } from './fuzz.ts'
import { ignoreProgress } from './program-result.ts'

const requests = 1_500
const homes = prepareHomes()

test(`${requests} random requests cause no 5xx, no late response and no line in the error log`, async () => {
  const { measurements, violations } = await fuzz({
    homes,
    requests,
    seed: Date.now() % 1_000_000,
    reportProgress: ignoreProgress,
  })
  expect(violations, `seed ${String(measurements['seed'])}`).toEqual([])
  expect(measurements['requests']).toBe(requests)
}, 300_000)
