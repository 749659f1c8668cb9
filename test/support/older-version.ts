import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')

/** The version before: the newest commit of the main line that lacks the newest migration; null where it is not known. */
export const versionBefore: string | null = findVersionBefore()

/** Why it can't be run here; null where it can. */
export const noVersionBefore: string | null =
  versionBefore === null ? 'the history of this clone does not reach back to the version before' : null

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
 * Puts the version before into a folder, with this version's packages.
 * @returns names of the migrations that it knows
 */
export function putVersionBefore(folder: string): string[] {
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
