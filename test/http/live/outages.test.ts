import { beforeEach, describe, expect, test } from 'vitest'
import {
  internalErrorValue,
  expectFrames,
  notFoundValue,
  LiveValue,
  type ValueStream,
} from '../../support/live-value.ts'

let value: LiveValue
let stream: ValueStream

beforeEach(async () => {
  value = new LiveValue()
  stream = value.join()
  await value.finishEvaluation()
  await expectFrames(stream, ['200 at 1.1'])
})

/** Waits until asynchronous work, such as a fan-out, has ended. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a result that was evaluated before the notifications of commits stopped', () => {
  test.each([
    ['is being made', false],
    ['waits for the notification of its commit', true],
  ])('is not written, when it %s then: the next server may be behind', async (_, isMade) => {
    // The database server has a commit of which the gateway has not been notified.
    value.write(7)
    value.responses.committed(['value'])
    await value.evaluationStarted()
    if (isMade) await value.finishEvaluation()
    await settled()
    value.listening(false)
    if (!isMade) await value.finishEvaluation()
    await expectFrames(stream, ['200 at 1.1', 'stale'])
    // Reads move to another server, which lags behind.
    value.seq = 1
    value.commit(8)
    value.listening(true)
    value.notify()
    await value.finishEvaluation()
    await expectFrames(stream, ['200 at 1.1', 'stale', '8 at 2.1'])
  })
})

test('a result that was begun without notifications of commits is not written if the next server lags behind', async () => {
  value.listening(false)
  value.write(7)
  const second = value.join()
  await value.evaluationStarted()
  const [made] = value.pending.splice(0)
  value.seq = 0
  value.write(8)
  value.listening(true)
  value.notify()
  made?.()
  await value.finishEvaluation()
  await expectFrames(second, ['stale', '8 at 1.1'])
  await expectFrames(stream, ['200 at 1.1', 'stale', '8 at 1.1'])
})

test('a result of another history is not written, although a commit with its number was notified', async () => {
  value.write(7)
  value.responses.committed(['value'])
  await value.evaluationStarted()
  value.versions.committed({ version: '2.9', newestTs: null })
  await value.finishEvaluation()
  await expectFrames(stream, ['200 at 1.1', 'stale'])
  // Nor is the next one, which begins after that notification.
  await value.finishEvaluation()
  value.write(8)
  value.versions.committed({ version: '3.1', newestTs: null })
  await value.finishEvaluation()
  await expectFrames(stream, ['200 at 1.1', 'stale', '8 at 3.1'])
})

describe('without notifications of commits', () => {
  test('a new stream gets the data and a notice that it may be stale; others get nothing more', async () => {
    value.listening(false)
    await expectFrames(stream, ['200 at 1.1', 'stale'])
    value.write(7)
    const second = value.join()
    await value.finishEvaluation()
    await expectFrames(second, ['stale', '7 at 2.1', 'stale'])
    await settled()
    expect(stream.frames).toEqual(['200 at 1.1', 'stale'])
    value.listening(true)
    value.notify()
    await value.finishEvaluation()
    await expectFrames(stream, ['200 at 1.1', 'stale', '7 at 2.1'])
    await expectFrames(second, ['stale', '7 at 2.1', 'stale', '7 at 2.1'])
  })

  test('a stream that joins while another one is being written gets the data too', async () => {
    value.listening(false)
    await expectFrames(stream, ['200 at 1.1', 'stale'])
    let third: ValueStream | undefined
    const second = value.join((frame) => {
      if (frame !== 'stale') third ??= value.join()
    })
    await value.finishEvaluation()
    await expectFrames(second, ['stale', '200 at 1.1', 'stale'])
    await value.finishEvaluation()
    await expect.poll(() => third?.frames).toEqual(['stale', '200 at 1.1', 'stale'])
  })

  test('a client that reads again gets the notice that its data may be stale', async () => {
    stream.pause()
    value.listening(false)
    await settled()
    expect(stream.frames).toEqual(['200 at 1.1'])
    stream.read()
    expect(stream.frames).toEqual(['200 at 1.1', 'stale'])
  })

  test('a client that reads again first gets the events that it has missed', async () => {
    stream.pause()
    value.commit(7)
    await value.finishEvaluation()
    await settled()
    value.listening(false)
    await settled()
    stream.read()
    expect(stream.frames).toEqual(['200 at 1.1', '7 at 2.1', 'stale'])
  })
})

test('a client that reads again gets no notice of an outage that is over', async () => {
  stream.pause()
  value.listening(false)
  await settled()
  value.listening(true)
  value.notify()
  await value.finishEvaluation()
  await settled()
  stream.read()
  expect(stream.frames).toEqual(['200 at 1.1', '200 at 1.1'])
})

test('a client that reads again is notified that the vault no longer exists', async () => {
  stream.pause()
  value.commit(notFoundValue)
  await value.finishEvaluation()
  await settled()
  stream.read()
  expect(stream.frames).toEqual(['200 at 1.1', 'refused 404'])
})

test('a stream gets a notice of stale data after an unexpected error, and the data when a retry succeeds', async () => {
  value.commit(internalErrorValue)
  await value.finishEvaluation()
  await expectFrames(stream, ['200 at 1.1', 'stale'])
  value.write(7)
  value.versions.committed({ version: '3.1', newestTs: null })
  await value.finishEvaluation()
  await expectFrames(stream, ['200 at 1.1', 'stale', '7 at 3.1'])
})
