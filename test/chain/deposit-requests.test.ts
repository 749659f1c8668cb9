import { numberToHex } from 'viem'
import { expect, test } from 'vitest'
import { type DepositRequest, DepositRequests } from '../../src/chain/vaults/deposit-requests.ts'

const requestOf = (controller: number, assets = 1n): DepositRequest => ({
  requestId: 0n,
  controller: numberToHex(controller, { size: 20 }),
  owner: numberToHex(8, { size: 20 }),
  assets,
  block: 7,
  blockHash: numberToHex(7, { size: 32 }),
  txHash: numberToHex(9, { size: 32 }),
  logIndex: controller,
})

test('requests of one controller are listed once, with the newest', () => {
  const requests = new DepositRequests()
  const [first, other, second] = [requestOf(1), requestOf(2), requestOf(1, 5n)]
  for (const request of [first, other, second]) requests.add(request)
  expect(requests.snapshot().openAt(9)).toEqual([second, other])
})

test('a snapshot is not changed by later requests', () => {
  const requests = new DepositRequests()
  const first = requestOf(1)
  requests.add(first)
  const before = requests.snapshot()
  for (let made = 0; made < 5_000; made++) requests.add(requestOf(1 + (made % 3)))
  expect(before.openAt(9)).toEqual([first])
  expect(requests.snapshot().openAt(9)).toHaveLength(3)
})

test('a settled request is not listed from that block on, until there is another one', () => {
  const requests = new DepositRequests()
  const [first, other, second] = [requestOf(1), requestOf(2), requestOf(1)]
  requests.add(first)
  requests.add(other)
  const before = requests.snapshot()
  before.settle(first, 9)
  before.settle(first, 12)
  expect(before.openAt(8)).toEqual([first, other])
  for (const block of [9, 10]) expect(before.openAt(block)).toEqual([other])
  expect(requests.snapshot().openAt(10)).toEqual([other])
  requests.add(second)
  expect(requests.snapshot().openAt(10)).toEqual([second, other])
  expect(before.openAt(10)).toEqual([other])
})

test('open requests are listed for any number of later requests', () => {
  const requests = new DepositRequests()
  const all = Array.from({ length: 5_000 }, (_, controller) => requestOf(controller))
  for (const request of all) requests.add(request)
  expect(requests.snapshot().openAt(9)).toEqual(all)
})

test('a settled sum is not read again, for any number of requests that have raised it', () => {
  const requests = new DepositRequests()
  const all = Array.from({ length: 300 }, () => requestOf(1))
  for (const request of all) requests.add(request)
  for (const request of requests.snapshot().openAt(9)) requests.snapshot().settle(request, 9)
  expect(requests.snapshot().openAt(9)).toEqual([])
  expect(requests.snapshot().openAt(8)).toEqual(all.slice(-1))
})

test('requests of many controllers are listed without settled ones', () => {
  const requests = new DepositRequests()
  const all = Array.from({ length: 100_000 }, (_, controller) => requestOf(controller))
  for (const request of all) {
    requests.add(request)
    requests.snapshot()
  }
  const open = all.slice(-3)
  for (const request of all) if (!open.includes(request)) requests.snapshot().settle(request, 9)
  expect(requests.snapshot().openAt(9)).toEqual(open)
})
