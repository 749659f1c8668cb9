import path from 'node:path'
import fc from 'fast-check'
import type { Homes } from '../support/home.ts'
import type { ProgramResult, ReportProgress } from './program-result.ts'
import { type Naming, RotatedFeed, type Step } from './rotated-feed.ts'

/** Feeds that are written and followed at the same time. */
const concurrency = 16

const maxLines = 4

/** Steps by how often they are taken. */
const step = fc.oneof(
  { weight: 8, arbitrary: withSetting('pause', 'milliseconds', fc.constantFrom(0, 5, 50, 250, 700, 1_500, 3_500)) },
  { weight: 6, arbitrary: withSetting('write', 'lines', fc.integer({ min: 1, max: maxLines })) },
  { weight: 4, arbitrary: withSetting('write late lines', 'lines', fc.integer({ min: 1, max: maxLines })) },
  { weight: 2, arbitrary: fc.constant({ do: 'write half a line' as const }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('rotate' as const),
      lines: fc.integer({ min: 0, max: maxLines }),
      millisecondsWithoutFile: fc.constantFrom(0, 0, 0, 20, 300),
    }),
  },
  { weight: 2, arbitrary: withSetting('compress', 'age', fc.integer({ min: 0, max: 2 })) },
  { weight: 1, arbitrary: fc.constant({ do: 'remove the oldest file' as const }) },
  { weight: 3, arbitrary: fc.constant({ do: 'stop or start' as const }) },
)

const plan: fc.Arbitrary<{ readonly naming: Naming; readonly steps: readonly Step[] }> = fc.record({
  naming: fc.constantFrom('by number', 'by date', 'by date within'),
  steps: fc.array(step, { minLength: 12, maxLength: 40 }),
})

function withSetting<Name extends string, Key extends string>(name: Name, key: Key, setting: fc.Arbitrary<number>) {
  return setting.map((value) => ({ do: name, [key]: value }) as { readonly do: Name } & Readonly<Record<Key, number>>)
}

/** Options of the program `rotation`. */
interface RotationOptions {
  readonly homes: Homes
  readonly feeds: number
  /** The steps of a feed depend on it and the number of the feed. */
  readonly seed: number
  readonly reportProgress: ReportProgress
}

/**
 * Writes feeds at random, rotates and compresses their files as logrotate does, and stops and starts what follows them; then each
 * line must be applied.
 */
export async function rotation({ homes, feeds, seed, reportProgress }: RotationOptions): Promise<ProgramResult> {
  const database = await (await homes.create()).open()
  const violations: string[] = []
  let [next, done, lines, rotations] = [0, 0, 0, 0]
  const followNext = async (): Promise<void> => {
    while (next < feeds) {
      const number = next++
      const [{ naming, steps } = { naming: 'by number' as const, steps: [] }] = fc.sample(plan, {
        numRuns: 1,
        seed: seed + number,
      })
      const feed = new RotatedFeed(database, path.join(homes.folder, `${seed + number}`), number, naming)
      const missing = await feed.run(steps)
      if (missing !== null) violations.push(`--seed ${seed + number}, named ${naming}: ${missing}`)
      lines += feed.lines
      rotations += feed.rotations
      reportProgress(`${++done} feeds, ${violations.length} with missing lines`)
    }
  }
  try {
    await Promise.all(Array.from({ length: concurrency }, followNext))
  } finally {
    await database.close()
  }
  return { measurements: { feeds, lines, rotations, 'feeds with missing lines': violations.length }, violations }
}
