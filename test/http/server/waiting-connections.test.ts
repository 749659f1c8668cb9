import { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { WaitingConnections } from '../../../src/http/server/pacing/waiting-connections.ts'

const connection = (remoteAddress: string): Socket =>
  Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress })
const connections = (count: number, address: string): Socket[] =>
  Array.from({ length: count }, () => connection(address))
const areClosed = (all: readonly Socket[]): boolean[] => all.map(({ destroyed }) => destroyed)

test('a connection over the limit of its address replaces the oldest one of that address', () => {
  const waiting = new WaitingConnections({ ofSender: 2 })
  const [busy, other] = [connections(3, '10.0.0.1'), connections(2, '10.0.0.2')]
  for (const socket of [...busy, ...other]) waiting.add(socket)
  expect([areClosed(busy), areClosed(other)]).toEqual([
    [true, false, false],
    [false, false],
  ])
  expect(waiting.size).toBe(4)
})

test('a connection over the total limit replaces the oldest one of the address with the most', () => {
  const waiting = new WaitingConnections({ inAll: 4 })
  const [busy, other] = [connections(4, '10.0.0.1'), connections(2, '10.0.0.2')]
  for (const socket of [...busy, ...other]) waiting.add(socket)
  expect([areClosed(busy), areClosed(other)]).toEqual([
    [true, true, false, false],
    [false, false],
  ])
})

test('connections with too many waiting bytes are closed, the oldest of the address with the most first', () => {
  const waiting = new WaitingConnections({ bytes: 100 })
  const [busy, other] = [connections(3, '10.0.0.1'), connections(1, '10.0.0.2')]
  for (const socket of busy) waiting.add(socket, 30)
  for (const socket of other) waiting.add(socket, 60)
  expect([areClosed(busy), areClosed(other)]).toEqual([[true, true, false], [false]])
  // Bytes of connections that were taken or deleted no longer count.
  waiting.delete(other[0] as Socket)
  expect(waiting.take()).toEqual([busy[2]])
  const next = connection('10.0.0.1')
  waiting.add(next, 100)
  expect([waiting.size, next.destroyed]).toEqual([1, false])
})

test('addresses take turns: one with few connections does not wait for those of another', () => {
  const waiting = new WaitingConnections()
  const [many, few] = [connections(20, '10.0.0.1'), connections(3, '10.0.0.2')]
  for (const socket of [...many, ...few]) waiting.add(socket)
  expect([waiting.take(), waiting.take(), waiting.take()]).toEqual([[many[0]], few, [many[1]]])
})

describe('a network of IPv6 addresses', () => {
  const ofNetwork = (count: number): Socket[] =>
    Array.from({ length: count }, (_, index) => connection(`2001:db8:1:${index + 1}::1`))

  test('takes turns as one address', () => {
    const waiting = new WaitingConnections()
    const [network, other] = [ofNetwork(5), connection('10.0.0.2')]
    for (const socket of [...network, other]) waiting.add(socket)
    expect([waiting.take(), waiting.take(), waiting.take()]).toEqual([[network[0]], [other], [network[1]]])
  })

  test('is closed first where too many wait in all and it has the most', () => {
    const waiting = new WaitingConnections({ inAll: 5 })
    const [other, network] = [connections(2, '10.0.0.1'), ofNetwork(5)]
    for (const socket of [...other, ...network]) waiting.add(socket)
    expect([areClosed(other), areClosed(network)]).toEqual([
      [false, false],
      [true, true, false, false, false],
    ])
  })
})
