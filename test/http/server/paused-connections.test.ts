import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { PausedConnections } from '../../../src/http/server/pacing/paused-connections.ts'

const [light, yielding, short, long, heavy] = [1, 2, 3, 4, 5].map(() => new Socket()) as [
  Socket,
  Socket,
  Socket,
  Socket,
  Socket,
]

function pausedOneEach(): PausedConnections {
  const paused = new PausedConnections(10, { inAll: 10, bytes: 1_000 })
  paused.add(light, paused.light)
  paused.add(yielding, paused.yielding)
  paused.add(short, paused.short)
  paused.add(long, paused.long)
  paused.add(heavy, paused.heavy)
  return paused
}

test('a heavy connection is read in its turn before the light ones, and those that yield an iteration later', () => {
  const paused = pausedOneEach()
  const resumed: Socket[] = []
  const turns = { ofLight: 2, ofShort: 2, ofHeavy: 2 }
  paused.resumeNext(turns, (socket) => resumed.push(socket))
  expect(resumed.map((socket) => [light, yielding, short, long, heavy].indexOf(socket))).toEqual([4, 0, 2, 3])
  resumed.length = 0
  paused.resumeNext(turns, (socket) => resumed.push(socket))
  expect(resumed).toEqual([yielding])
  expect(paused.all.size).toBe(0)
})

test('while only new connections are read, light ones wait', () => {
  const paused = pausedOneEach()
  const resumed: Socket[] = []
  paused.resumeNext({ ofLight: 0, ofShort: 2, ofHeavy: 0 }, (socket) => resumed.push(socket))
  expect(resumed).toEqual([short])
  expect(paused.all).toEqual(new Set([light, yielding, long, heavy]))
})
