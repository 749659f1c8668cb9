import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { goals } from './speed/goals.ts'
import { measureSpeed } from './speed/measure.ts'
import { readOptions } from './speed/options.ts'
import { withSection } from './speed/readme.ts'
import { report } from './speed/report.ts'

const tiny = '--vaults 60 --long-series 2 --long-points 700 --middle-points 600 --points 20 --ledger-rows 250'
const short = '--rounds 1 --seconds 0.1 --connections 2 --without postgraphile'

describe('the bench', () => {
  test.runIf(postgresUrl !== undefined)(
    'measures every goal but those beside PostGraphile, in a tiny world',
    async () => {
      const options = readOptions(`${tiny} ${short}`.split(' '), postgresUrl)
      if (typeof options === 'string') throw new Error(options)
      const folder = await mkdtemp(path.join(tmpdir(), 'speed-test-'))
      const { measured, setting } = await measureSpeed(options, folder)
      await rm(folder, { recursive: true })
      const unmeasured = goals(measured).filter(({ isReached }) => isReached === null)
      expect(unmeasured.map(({ goal }) => goal).filter((goal) => !goal.includes('PostGraphile'))).toEqual([])
      expect(goals(measured).find(({ goal }) => goal.startsWith('statements'))).toMatchObject({ isReached: true })
      const text = report(measured, setting)
      for (const name of ['bare', 'constant REST', 'REST cold', 'GraphQL hot', 'REST cold, PGlite']) {
        expect(text).toContain(`| ${name} |`)
      }
    },
    300_000,
  )

  test('says what it lacks, and what it was told wrongly', () => {
    expect(readOptions([], undefined)).toContain('BENCH_DATABASE_URL')
    expect(readOptions(['--vaults', 'many'], 'postgres://x')).toContain('--vaults is many')
    expect(readOptions(['--fast'], 'postgres://x')).toContain('--fast')
    expect(readOptions([], 'postgres://x')).toMatchObject({ isStated: true })
    expect(readOptions(['--keep'], 'postgres://x')).toMatchObject({ isStated: true })
    expect(readOptions(['--rounds', '1'], 'postgres://x')).toMatchObject({ isStated: false })
  })

  test('puts its figures between the marks of the README, and nowhere else', async () => {
    const readme = await readFile(path.join(import.meta.dirname, 'README.md'), 'utf8')
    const [first, second] = [withSection(readme, 'First'), withSection(withSection(readme, 'First'), 'Second')]
    expect(second).toBe(first.replace('First', 'Second'))
    expect(second.startsWith(readme.slice(0, readme.indexOf('<!-- The figures')))).toBe(true)
    expect(second.endsWith(readme.slice(readme.indexOf('<!-- End of the figures')))).toBe(true)
    expect(() => withSection('# Another page', 'First')).toThrow('no marks')
  })
})
