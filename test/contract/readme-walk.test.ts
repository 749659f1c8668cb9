import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { codeIn, readmeOf, root, sectionOf } from './readmes.ts'

describe("the walk of a fact, in the source's README", () => {
  const walk = sectionOf(readmeOf('src'), '## The walk of a fact')
  const steps = walk.slice(walk.indexOf('\n1. '), walk.indexOf('<!--'))
  const files = codeIn(steps).filter((name) => name.endsWith('.ts'))
  const folders = codeIn(steps).filter((name) => name.endsWith('/'))
  let ran: readonly string[] = []

  beforeAll(async () => {
    const program = path.join(import.meta.dirname, 'readme-walk-run.ts')
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program], { cwd: root })
    ran = JSON.parse(stdout) as string[]
  })

  test('names files that run', () => {
    expect(files.length).toBeGreaterThan(30)
    expect(files.filter((file) => !ran.includes(file))).toEqual([])
    expect(folders.filter((folder) => !ran.some((file) => file.startsWith(folder)))).toEqual([])
  })

  test('names each file that runs, or its folder', () => {
    const isNamed = (file: string): boolean => files.includes(file) || folders.some((folder) => file.startsWith(folder))
    expect(ran.filter((file) => !isNamed(file))).toEqual([])
  })

  test('is not of all files there are', () => {
    expect(ran).not.toContain('feed/reading/file-position.ts')
    expect(ran).not.toContain('http/app.ts')
  })
})
