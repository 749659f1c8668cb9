import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { fuzz } from './fuzz.ts'
import { silent } from './show.ts'

const requests = 1_500
const homes = prepareHomes()

test(`${requests} requests of any kind get no 5xx, no late answer, and leave no failure in the log`, async () => {
  const { figures, flaws } = await fuzz({ homes, requests, seed: Date.now() % 1_000_000, say: silent })
  expect(flaws, `by the seed ${String(figures['seed'])}`).toEqual([])
  expect(figures['requests']).toBe(requests)
}, 300_000)
