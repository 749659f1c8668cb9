import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { edge } from './edge.ts'
import { noNginx } from './nginx.ts'
import { silent } from './show.ts'

const homes = prepareHomes()

test.skipIf(noNginx !== null)(
  `nginx answers most requests, with no older data than it may, and all while the gateway is away${noNginx === null ? '' : ` (${noNginx})`}`,
  async () => {
    const { figures, flaws } = await edge({
      homes,
      vaults: 3,
      edgeSeconds: 3,
      seconds: 6,
      say: silent,
    })
    expect(flaws).toEqual([])
    // Were nothing committed meanwhile, no answer could be old.
    expect(figures['commits meanwhile']).toBeGreaterThan(0)
  },
)
