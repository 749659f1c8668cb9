import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')

/** The newest commit of the main branch without the newest migration; null if this clone does not have it. */
const versionBefore: string | null = findVersionBefore()

/** Reason to skip tests that run the version before the newest migration; null if there is none. */
export const noVersionBefore: string | null =
  versionBefore === null ? 'this clone does not have the commit of the version before the newest migration' : null

function findVersionBefore(): string | null {
  const added = ['log', '--first-parent', '-m', '--diff-filter=A', '--format=%H', '-1', '--', 'prisma/migrations']
  try {
    const commit = git(added).toString().trim()
    return git(['rev-parse', '--verify', '--quiet', `${commit}^`])
      .toString()
      .trim()
  } catch {
    return null
  }
}

/**
 * Extracts the version before the newest migration into a folder, with the installed packages of this version.
 * @returns the names of its migrations
 */
export function extractVersionBefore(folder: string): string[] {
  const commit = versionBefore ?? ''
  const archive = git(['archive', commit, 'package.json', 'tsconfig.json', 'prisma', 'src'])
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'))
  const listed = git(['ls-tree', '--name-only', '-d', `${commit}:prisma/migrations`]).toString()
  return listed.trim().split('\n')
}

function git(args: readonly string[]): Buffer {
  return execFileSync('git', args, { cwd: root, maxBuffer: 100_000_000, stdio: ['ignore', 'pipe', 'ignore'] })
}
