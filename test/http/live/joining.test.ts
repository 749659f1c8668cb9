import { beforeEach, describe, expect, test } from 'vitest'
import { unavailableValue, expectFrames, notFoundValue, LiveValue } from '../../support/live-value.ts'

let value: LiveValue

beforeEach(() => {
  value = new LiveValue()
})

describe('a stream that joins others', () => {
  test('gets their newest response immediately', async () => {
    const first = value.join()
    await value.finishEvaluation()
    await expectFrames(first, ['200 at 1.1'])
    expect(value.join().frames).toEqual(['200 at 1.1'])
  })

  test('gets no older response while a change is evaluated', async () => {
    const first = value.join()
    await value.finishEvaluation()
    await expectFrames(first, ['200 at 1.1'])
    value.commit(7)
    await value.evaluationStarted()
    const second = value.join()
    expect(second.frames).toEqual([])
    await value.finishEvaluation()
    await expectFrames(first, ['200 at 1.1', '7 at 2.1'])
    expect(second.frames).toEqual(['7 at 2.1'])
  })

  test.each([
    ['before', false],
    ['before, and known by no tag yet', true],
  ])('gets nothing of a change %s', async (_, isFirst) => {
    const first = value.join()
    const had = isFirst ? [] : ['200 at 1.1']
    if (!isFirst) {
      await value.finishEvaluation()
      await expectFrames(first, had)
      value.commit(7)
    }
    await value.evaluationStarted()
    const [shown, version] = isFirst ? [200, 1] : [7, 2]
    value.commit(8)
    const second = value.join()
    await value.finishEvaluation()
    await expectFrames(first, [...had, `${shown} at ${version}.1`])
    expect(second.frames).toEqual([])
    await value.finishEvaluation()
    await expectFrames(second, [`8 at ${version + 1}.1`])
    expect(first.frames).toEqual([...had, `${shown} at ${version}.1`, `8 at ${version + 1}.1`])
  })

  test('is not notified of a deletion that a later change has undone', async () => {
    const first = value.join()
    await value.finishEvaluation()
    await expectFrames(first, ['200 at 1.1'])
    value.commit(notFoundValue)
    await value.evaluationStarted()
    value.commit(9)
    const second = value.join()
    await value.finishEvaluation()
    await expectFrames(first, ['200 at 1.1', 'refused 404'])
    expect(second.frames).toEqual([])
    await value.finishEvaluation()
    await expectFrames(second, ['9 at 3.1'])
  })
})

test.each([
  ['a minimum time', { pushMilliseconds: 300 }, 0],
  ['as many times of the last evaluation', { pushFactor: 5 }, 60],
])('two pushes are %s apart', async (_, given, milliseconds) => {
  value = new LiveValue(given)
  const at: number[] = []
  const stream = value.join(() => at.push(performance.now()))
  await value.finishEvaluation(milliseconds)
  await expectFrames(stream, ['200 at 1.1'])
  value.commit(7)
  await value.finishEvaluation(milliseconds)
  await expectFrames(stream, ['200 at 1.1', '7 at 2.1'])
  const [first = NaN, second = NaN] = at
  // The interval starts before the first event is written.
  expect(second - first).toBeGreaterThan(200)
})

test.each([
  ['with an unchanged result', 200],
  ['that failed', unavailableValue],
])('an evaluation %s is followed by as long a rest as any other', async (_, committed) => {
  value = new LiveValue({ pushFactor: 30 })
  const stream = value.join()
  await value.finishEvaluation()
  await expectFrames(stream, ['200 at 1.1'])
  value.commit(committed)
  await value.finishEvaluation(60)
  const endedAt = performance.now()
  value.commit(committed)
  await value.evaluationStarted()
  expect(performance.now() - endedAt).toBeGreaterThan(1_500)
})
