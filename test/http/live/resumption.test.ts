import { setTimeout as wait } from 'node:timers/promises'
import { beforeEach, expect, test, vi } from 'vitest'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { createFanOut } from '../../../src/http/live/delivery/fan-out.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../../src/http/live/delivery/unsent-frames.ts'
import { Resumptions } from '../../../src/http/live/resumption.ts'
import type { Exchange } from '../../../src/http/middleware.ts'
import { liveLimits } from '../../../src/limits/live.ts'

const nothing = (): void => undefined

let versions: DataVersions
let resumptions: Resumptions

beforeEach(() => {
  versions = new DataVersions()
  versions.listening(true)
  versions.committed({ version: '7.1', newestTs: null })
  const awaitVersion = (): Promise<null> => Promise.resolve(null)
  resumptions = new Resumptions({ versions, awaitVersion, fanOut: createFanOut(100, 10) })
})

/** Resumes a stream whose first responses are produced while something happens. */
async function resumed(lastEventId: string | null, meanwhile: () => void) {
  const exchange = {
    request: { header: () => lastEventId },
    sender: 'one',
    onDisconnect: nothing,
  } as unknown as Exchange
  const resumption = await resumptions.awaitResumption(exchange)
  meanwhile()
  const frames: string[] = []
  const write = (bytes: Buffer): void => void frames.push(bytes.toString())
  const sink = { unsentBytes: 0, end: nothing, destroy: nothing, onDrain: nothing, onClose: nothing, write }
  const connection = new LiveConnection(sink, liveLimits, 'one', new UnsentFrames(1))
  const follow = vi.fn()
  resumptions.resume(exchange, resumption, {
    connection,
    staleFrame: Buffer.from('stale'),
    follow,
  })
  return { frames, follow }
}

test('a stream whose version a new server lacks waits until that server has it, and reports stale data', async () => {
  const { frames, follow } = await resumed('7.1', () => versions.listening(false))
  expect(frames).toEqual(['stale'])
  versions.listening(true)
  versions.committed({ version: '6.1', newestTs: null })
  await wait(50)
  expect(follow).not.toHaveBeenCalled()
  versions.committed({ version: '7.1', newestTs: null })
  await expect.poll(() => follow).toHaveBeenCalledWith('reached')
})

test.each([
  ['whose version is reached still', '7.1', nothing],
  ['without a version, while commits are not notified of', null, () => versions.listening(false)],
])('a stream %s follows at once', async (_, lastEventId, meanwhile) => {
  const { frames, follow } = await resumed(lastEventId, meanwhile)
  expect(follow).toHaveBeenCalledWith('reached')
  expect(frames).toEqual([])
})
