import { setTimeout as wait } from 'node:timers/promises'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { DataVersions } from '../../../src/http/cache/data-versions.ts'
import { EncodedResponse } from '../../../src/http/cache/encoded-response.ts'
import { createFanOut } from '../../../src/http/live/delivery/fan-out.ts'
import { LiveConnection } from '../../../src/http/live/delivery/live-connection.ts'
import { UnsentFrames } from '../../../src/http/live/delivery/unsent-frames.ts'
import { LiveKeys } from '../../../src/http/live/keys/live-keys.ts'
import type { Evaluation, LiveSource } from '../../../src/http/live/keys/live-source.ts'
import { type LiveLimits, liveLimits } from '../../../src/limits/live.ts'

const nothing = (): void => undefined
const limits = { ...liveLimits, pushMilliseconds: 0, pushFactor: 0 }
const gone = 404

let data: DataVersions
let keys: LiveKeys
/** The data as it is now. */
let value: number
/** Evaluations that have read the data, and whose result has not come yet. */
let pending: (() => void)[]

beforeEach(() => {
  data = new DataVersions()
  data.listening(true)
  keys = keysWithin(limits)
  value = 0
  pending = []
  commit(200)
})

function keysWithin(limits: LiveLimits): LiveKeys {
  return new LiveKeys({ limits, fanOut: createFanOut(100, 10), data, onEvaluation: nothing, onDelivery: nothing })
}

function sourceOf(): LiveSource {
  return {
    name: 'value',
    evaluate: () => {
      const [body, version] = [String(value), `${data.newestSeq ?? 0}.1`]
      const response = new EncodedResponse(
        { status: value === gone ? 404 : 200, headers: {}, body },
        { tags: new Set(['value']), version },
      )
      return new Promise<Evaluation>((resolve) => pending.push(() => resolve({ response, version })))
    },
    frame: (body, version) => Buffer.from(`${body.toString()} at ${version ?? '?'}`),
    refusal: ({ bytes }) => ({ frame: Buffer.from(`refused ${bytes.toString()}`), isEnd: false }),
    staleFrame: Buffer.from('stale'),
  }
}

function commit(to: number): void {
  value = to
  data.committed({ version: `${(data.newestSeq ?? 0) + 1}.1`, newestTs: null })
  keys.committed(['value'])
}

/** Lets the evaluation under way end, when it has taken so long. */
async function evaluated(milliseconds = 0): Promise<void> {
  await vi.waitFor(() => expect(pending).toHaveLength(1))
  await wait(milliseconds)
  pending.pop()?.()
}

/** Opens a stream on the value. @returns what its client gets */
function join(onFrame = nothing): string[] {
  const frames: string[] = []
  const write = (bytes: Buffer): void => {
    frames.push(bytes.toString())
    onFrame()
  }
  const sink = { unsentBytes: 0, awaitsDrain: false, write }
  const none = { end: nothing, destroy: nothing, onDrain: nothing, onClose: nothing }
  keys.follow(sourceOf(), new LiveConnection({ ...sink, ...none }, limits, 'someone', new UnsentFrames(1)))
  return frames
}

const comes = (frames: string[], expected: string[]) => vi.waitFor(() => expect(frames).toEqual(expected))

describe('a stream that joins others', () => {
  test('gets at once what they have', async () => {
    const first = join()
    await evaluated()
    await comes(first, ['200 at 1.1'])
    expect(join()).toEqual(['200 at 1.1'])
  })

  test('gets nothing of before a change, while that is evaluated', async () => {
    const first = join()
    await evaluated()
    await comes(first, ['200 at 1.1'])
    commit(7)
    await vi.waitFor(() => expect(pending).toHaveLength(1))
    const second = join()
    expect(second).toEqual([])
    await evaluated()
    await comes(first, ['200 at 1.1', '7 at 2.1'])
    expect(second).toEqual(['7 at 2.1'])
  })

  test.each([
    ['before', false],
    ['before, and known by no tag yet', true],
  ])('gets nothing of a change %s', async (_, isFirst) => {
    const first = join()
    const had = isFirst ? [] : ['200 at 1.1']
    if (!isFirst) {
      await evaluated()
      await comes(first, had)
      commit(7)
    }
    await vi.waitFor(() => expect(pending).toHaveLength(1))
    const [shown, version] = isFirst ? [200, 1] : [7, 2]
    commit(8)
    const second = join()
    await evaluated()
    await comes(first, [...had, `${shown} at ${version}.1`])
    expect(second).toEqual([])
    await evaluated()
    await comes(second, [`8 at ${version + 1}.1`])
    expect(first).toEqual([...had, `${shown} at ${version}.1`, `8 at ${version + 1}.1`])
  })

  test('is told of no loss that a later change has undone', async () => {
    const first = join()
    await evaluated()
    await comes(first, ['200 at 1.1'])
    commit(gone)
    await vi.waitFor(() => expect(pending).toHaveLength(1))
    commit(9)
    const second = join()
    await evaluated()
    await comes(first, ['200 at 1.1', 'refused 404'])
    expect(second).toEqual([])
    await evaluated()
    await comes(second, ['9 at 3.1'])
  })
})

test.each([
  ['a minimum time', { pushMilliseconds: 300 }, 0],
  ['as many times of the last evaluation', { pushFactor: 5 }, 60],
])('two pushes are %s apart', async (_, given, milliseconds) => {
  keys = keysWithin({ ...limits, ...given })
  const at: number[] = []
  const frames = join(() => at.push(performance.now()))
  await evaluated(milliseconds)
  await comes(frames, ['200 at 1.1'])
  commit(7)
  await evaluated(milliseconds)
  await comes(frames, ['200 at 1.1', '7 at 2.1'])
  const [first = NaN, second = NaN] = at
  // The time is counted from before the first is written.
  expect(second - first).toBeGreaterThan(200)
})
