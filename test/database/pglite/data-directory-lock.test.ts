import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { DataDirInUse, lockDataDirectory } from '../../../src/database/pglite/data-directory-lock.ts'

let folder: string

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'lock-')))
})
afterAll(() => rm(folder, { recursive: true }))

test('a data directory is locked until it is released', async () => {
  const release = await lockDataDirectory(folder)
  const refusal: unknown = await lockDataDirectory(folder).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(DataDirInUse)
  expect(refusal).toMatchObject({ folder, holder: `process ${process.pid}` })
  await release()
  await (
    await lockDataDirectory(folder)
  )()
})

test('another data directory can be locked meanwhile', async () => {
  const other = path.join(folder, 'other')
  await mkdir(other)
  const release = await lockDataDirectory(folder)
  await (
    await lockDataDirectory(other)
  )()
  await release()
  await rm(other, { recursive: true })
})

test('another data directory of the same path can be locked meanwhile, as in another container', async () => {
  const [first, moved] = [path.join(folder, 'first'), path.join(folder, 'moved')]
  await mkdir(first)
  const release = await lockDataDirectory(first)
  await rename(first, moved)
  await mkdir(first)
  await (
    await lockDataDirectory(first)
  )()
  await expect(lockDataDirectory(moved)).rejects.toBeInstanceOf(DataDirInUse)
  await release()
  for (const made of [first, moved]) await rm(made, { recursive: true })
})

test('a data directory is locked for any path to it', async () => {
  const [real, link] = [path.join(folder, 'real'), path.join(folder, 'link')]
  // With a path too long for a socket file only the other socket holds the lock.
  const data = path.join(real, 'd'.repeat(120))
  await mkdir(data, { recursive: true })
  await symlink(real, link)
  const release = await lockDataDirectory(data)
  await expect(lockDataDirectory(path.join(link, 'd'.repeat(120)))).rejects.toBeInstanceOf(DataDirInUse)
  await release()
  for (const made of [link, real]) await rm(made, { recursive: true })
})

/** Connects to the lock's socket from another process, which ends before this one has accepted the connection. */
async function comeAndLeave(): Promise<void> {
  const [file = ''] = await readdir(folder)
  const script = `const socket = require('net').connect(${JSON.stringify(path.join(folder, file))}, () => process.exit())`
  execFileSync(process.execPath, ['-e', script])
}

test('a query for the holder that disconnects before the response does not end the holder', async () => {
  const release = await lockDataDirectory(folder)
  const failed = vi.fn()
  process.once('uncaughtException', failed)
  for (let times = 0; times < 3; times++) await comeAndLeave()
  // A later query gets a response.
  await expect(lockDataDirectory(folder)).rejects.toMatchObject({ holder: `process ${process.pid}` })
  process.off('uncaughtException', failed)
  expect(failed).not.toHaveBeenCalled()
  await release()
})

test('a query for the holder that never closes its connection does not prevent the release of the lock', async () => {
  const release = await lockDataDirectory(folder)
  const [file = ''] = await readdir(folder)
  const asking = connect({ path: path.join(folder, file), allowHalfOpen: true })
  await once(asking, 'data')
  await release()
  asking.destroy()
  expect(await readdir(folder)).toEqual([])
})

test('of concurrent attempts exactly one gets the lock', async () => {
  const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => lockDataDirectory(folder)))
  const refusals = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason as unknown] : []))
  expect(refusals).toHaveLength(19)
  for (const refusal of refusals) expect(refusal).toBeInstanceOf(DataDirInUse)
  for (const attempt of attempts) if (attempt.status === 'fulfilled') await attempt.value()
})

test('an attempt during a release gets the lock or is refused', async () => {
  for (let round = 0; round < 200; round++) {
    const release = await lockDataDirectory(folder)
    const asking = lockDataDirectory(folder).catch((error: unknown) => error)
    const [answer] = await Promise.all([asking, release()])
    if (typeof answer === 'function') await (answer as () => Promise<void>)()
    else expect(answer).toBeInstanceOf(DataDirInUse)
  }
})

describe('a socket in the folder', () => {
  const listening = (file: string, answer: string): Promise<Server> =>
    new Promise((resolve) => {
      const server = createServer((socket) => socket.end(answer)).listen(file, () => resolve(server))
    })

  test('is removed after its process was killed, or has released the lock', async () => {
    const file = path.join(folder, 'open-killed.sock')
    const killed = await listening(`${file}.before`, 'nobody')
    await rename(`${file}.before`, file)
    await new Promise((resolve) => killed.close(resolve))
    expect(await readdir(folder)).toEqual(['open-killed.sock'])
    const release = await lockDataDirectory(folder)
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^open-[0-9a-f]{8}\.sock$/)])
    await release()
    expect(await readdir(folder)).toEqual([])
  })

  test('of a running process is respected, for any path', async () => {
    const holder = await listening(path.join(folder, 'open-other.sock'), 'process 1 on another')
    const refusal: unknown = await lockDataDirectory(folder).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ folder, holder: 'process 1 on another' })
    expect(await readdir(folder)).toEqual(['open-other.sock'])
    await new Promise((resolve) => holder.close(resolve))
    await (
      await lockDataDirectory(folder)
    )()
  })

  test('that cannot be created leaves the other lock in force', async () => {
    const long = path.join(folder, 'l'.repeat(120))
    await mkdir(long)
    const release = await lockDataDirectory(long)
    expect(await readdir(long)).toEqual([])
    await expect(lockDataDirectory(long)).rejects.toBeInstanceOf(DataDirInUse)
    await release()
    await rm(long, { recursive: true })
  })
})
