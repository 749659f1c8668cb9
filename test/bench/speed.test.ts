import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { postgresUrl } from '../support/database.ts'
import { evaluateGoals } from './speed/goals.ts'
import { measureSpeed } from './speed/measure.ts'
import { readOptions } from './speed/options.ts'
import { replaceResults } from './speed/readme.ts'
import { formatReport } from './speed/report.ts'

const tiny = '--vaults 60 --long-series 2 --long-points 700 --middle-points 600 --points 20 --ledger-rows 250'
const short = '--rounds 1 --seconds 0.1 --connections 2 --without postgraphile'

describe('the speed benchmark', () => {
  test.runIf(postgresUrl !== undefined)(
    'measures all goals except those of PostGraphile, in a tiny world',
    async () => {
      const options = readOptions(`${tiny} ${short}`.split(' '), postgresUrl)
      if (typeof options === 'string') throw new Error(options)
      const folder = await mkdtemp(path.join(tmpdir(), 'speed-test-'))
      const { result, run } = await measureSpeed(options, folder)
      await rm(folder, { recursive: true })
      const goals = evaluateGoals(result)
      const unmeasured = goals.filter(({ isReached }) => isReached === null)
      expect(unmeasured.map(({ goal }) => goal).filter((goal) => !goal.includes('PostGraphile'))).toEqual([])
      expect(goals.find(({ goal }) => goal.startsWith('statements'))).toMatchObject({ isReached: true })
      const text = formatReport(result, run)
      for (const name of ['bare', 'constant REST', 'REST cold', 'GraphQL hot', 'REST cold, PGlite']) {
        expect(text).toContain(`| ${name} |`)
      }
    },
    300_000,
  )

  test('reports a missing address and invalid options', () => {
    expect(readOptions([], undefined)).toContain('BENCH_DATABASE_URL')
    expect(readOptions(['--vaults', 'many'], 'postgres://x')).toContain('--vaults is many')
    expect(readOptions(['--fast'], 'postgres://x')).toContain('--fast')
    expect(readOptions([], 'postgres://x')).toMatchObject({ hasDefaults: true })
    expect(readOptions(['--keep'], 'postgres://x')).toMatchObject({ hasDefaults: true })
    expect(readOptions(['--rounds', '1'], 'postgres://x')).toMatchObject({ hasDefaults: false })
  })

  test('writes its results between the two comments of the README, and nowhere else', async () => {
    const readme = await readFile(path.join(import.meta.dirname, 'README.md'), 'utf8')
    const [first, second] = [replaceResults(readme, 'First'), replaceResults(replaceResults(readme, 'First'), 'Second')]
    expect(second).toBe(first.replace('First', 'Second'))
    expect(second.startsWith(readme.slice(0, readme.indexOf('<!-- The results')))).toBe(true)
    expect(second.endsWith(readme.slice(readme.indexOf('<!-- End of the results')))).toBe(true)
    expect(() => replaceResults('# Another page', 'First')).toThrow('lacks <!--')
  })
})
