import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DataDirInUse, lockFolder } from '../../src/database/lock.ts'

let folder: string

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'lock-')))
})
afterAll(() => rm(folder, { recursive: true }))

test('a folder is held until it is released', async () => {
  const release = await lockFolder(folder)
  const refusal: unknown = await lockFolder(folder).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(DataDirInUse)
  expect(refusal).toMatchObject({ folder, holder: `process ${process.pid}` })
  await release()
  await (
    await lockFolder(folder)
  )()
})

test('another folder is free meanwhile', async () => {
  const release = await lockFolder(folder)
  await (
    await lockFolder(path.join(folder, 'other'))
  )()
  await release()
})

test('of many that want a folder at once one gets it', async () => {
  const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)))
  const refusals = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason as unknown] : []))
  expect(refusals).toHaveLength(19)
  for (const refusal of refusals) expect(refusal).toBeInstanceOf(DataDirInUse)
  for (const attempt of attempts) if (attempt.status === 'fulfilled') await attempt.value()
})

test('one that asks while the holder lets go gets it or is refused, and nothing else', async () => {
  for (let round = 0; round < 200; round++) {
    const release = await lockFolder(folder)
    const asking = lockFolder(folder).catch((error: unknown) => error)
    const [answer] = await Promise.all([asking, release()])
    if (typeof answer === 'function') await (answer as () => Promise<void>)()
    else expect(answer).toBeInstanceOf(DataDirInUse)
  }
})
