import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { feedText } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { commandLine } from '../support/process.ts'
import { strategy } from '../support/world.ts'

const root = path.resolve(import.meta.dirname, '../..')
const homes = prepareHomes()
const { start } = commandLine()

/** Runs a command as in a container: on the file system of this machine, with a separate network namespace. */
function inContainer(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const options = { cwd: root, env: { PATH: process.env['PATH'] ?? '', ...env }, encoding: 'utf8' } as const
  return spawnSync('unshare', ['--net', ...command], options)
}

const why = inContainer(['true']).status === 0 ? '' : ' (skipped: unshare --net needs Linux and root)'

test.skipIf(why !== '')(`a folder that two containers share belongs to one process${why}`, async () => {
  const { dataDir, env } = await homes.createInFolder()
  const feed = path.join(homes.folder, 'feed.ndjson')
  await writeFile(feed, feedText([strategy('one')]))
  const ingest = () => inContainer([process.execPath, 'src/start.mjs', 'ingest', feed], env)
  const gateway = start(['serve'], { ...env, PORT: '0', DEMO: '0' })
  await gateway.says(/GraphiQL/)

  const refused = ingest()
  expect(refused.stderr).toMatch(
    `The embedded database in ${dataDir} is open in another process (process ${gateway.pid} on `,
  )
  expect(refused.status).toBe(1)

  gateway.kill('SIGKILL')
  await gateway.ended
  expect(ingest()).toMatchObject({ status: 0, stderr: expect.stringMatching(/^applied +1 /) as string })
})
