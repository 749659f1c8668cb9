import { type Address, getAddress, type Hex, numberToHex } from 'viem'
import { expect, test } from 'vitest'
import type { Holding } from '../../src/chain/positions/holding.ts'
import { Holdings } from '../../src/chain/positions/holdings.ts'
import { applyHistory } from '../../src/chain/positions/unlisted-positions.ts'
import type { ChainLog } from '../../src/chain/rpc/block.ts'
import { type BlockState, Multicall } from '../../src/chain/rpc/multicall.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { TokenPrices, type Tokens } from '../../src/chain/valuation/tokens.ts'
import { valueVault } from '../../src/chain/valuation/valuation.ts'
import { noRequests } from '../../src/chain/vaults/deposit-requests.ts'
import type { VaultAdapter } from '../../src/chain/vaults/vault-adapter.ts'
import type { VaultKinds } from '../../src/chain/vaults/vault-kinds.ts'
import type { PositionChange, StoredPosition, Venue } from '../../src/chain/venues/venue.ts'
import { Venues } from '../../src/chain/venues/venues.ts'
import { Decimal } from '../../src/domain/decimal.ts'
import { startProxy } from './support/proxy.ts'

const [pool, vault, owner] = [0xa0, 0xb0, 0xc0].map((byte) => getAddress(`0x${byte.toString(16).repeat(20)}`)) as [
  Address,
  Address,
  Address,
]
const [first, block] = [1_000, 1_500]
const hash: Hex = `0x${'ab'.repeat(32)}`
const kinds = { of: () => ({ accounts: [owner] }) } as unknown as VaultKinds
const tokens = new Map([pool, vault].map((address) => [address, {}])) as unknown as Tokens
const stored: StoredPosition = {
  token0: pool,
  token1: vault,
  feeTier: 500,
  ticks: { lower: 0, upper: 10 },
  liquidity: 2n,
  credited: [0n, 0n],
  growthCounted: [0n, 0n],
}

/** Returns a venue whose positions no contract lists: the data of a log is the id of the position that it adds 1 to. */
function venueOf(decodeLog: (log: ChainLog) => PositionChange): Venue {
  return {
    name: 'positions in a pool',
    contracts: [pool],
    topics: [],
    has: () => true,
    decodeLog,
    movesOf: () => [{ address: pool, topics: [] }],
    changesOf: () => [],
    readStored: () => Promise.resolve(stored),
    positionOf: () => Promise.reject(new Error('Nothing is valued')),
  }
}

const added = ({ data }: ChainLog): PositionChange => ({
  kind: 'increased',
  id: String(Number(data)),
  liquidity: 1n,
  amounts: [1n, 1n],
  account: { owner, isByOwner: false },
})

test('logs of many positions in pools are decoded a few times each, while the server does other work', async () => {
  const many = 1_500
  const logs = Array.from({ length: 2 * many }, (_, index) => ({
    address: pool,
    topics: [],
    data: numberToHex(index % many),
    blockNumber: numberToHex(first + Math.floor(index / 15)),
    blockHash: hash,
    transactionHash: numberToHex(Math.floor(index / 3), { size: 32 }),
    logIndex: numberToHex(index),
  }))
  const proxy = await startProxy('http://127.0.0.1:9', ({ method, params }) => {
    if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
    if (method === 'eth_getBlockByNumber') return Promise.resolve({ result: headerOf(params[0] as Hex) })
    const { fromBlock, toBlock } = params[0] as { fromBlock: Hex; toBlock: Hex }
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    return Promise.resolve({
      result: logs.filter(({ blockNumber }) => Number(blockNumber) >= from && Number(blockNumber) <= to),
    })
  })
  const rpc = connectRpc(
    { chainId: 1, rpc: [{ url: proxy.url, requestsPerSecond: 100_000 }] },
    {
      report: () => undefined,
      signal: new AbortController().signal,
      givesUp: true,
      onLastingFault: () => undefined,
    },
  )
  // Of the newest blocks logs are not read in ranges.
  rpc.newest.note({ number: block + 1_000 })
  let [decoded, sinceTurn, mostInTurn, isOver] = [0, 0, 0, false]
  const onTurn = (): void => {
    sinceTurn = 0
    if (!isOver) setImmediate(onTurn)
  }
  const venues = new Venues([
    venueOf((log) => {
      decoded++
      mostInTurn = Math.max(mostInTurn, ++sinceTurn)
      return added(log)
    }),
  ])
  const holdings = new Holdings(venues, kinds, new Set([vault]))
  setImmediate(onTurn)
  const options = { rpc, multicall: new Multicall(pool), venues, tokens, vaults: [{ firstBlock: first }] }
  await applyHistory(holdings, { number: block, hash }, options)
  isOver = true
  await proxy.close()
  expect(holdings.of(vault).foreign).toHaveLength(many)
  expect(decoded).toBeLessThanOrEqual(2 * logs.length)
  expect(mostInTurn).toBeLessThan(500)
})

test('an exit of a vault does not sort all positions that the vault has ever had', () => {
  const [many, exits] = [1_000, 20]
  let reads = 0
  const closed = Array.from({ length: many }, (_, index): Holding => {
    const state = { vault, liquidity: 0n, freed: [0n, 0n] as const }
    return Object.defineProperty({ ...state, id: '' }, 'id', {
      get() {
        reads++
        return `closed ${index}`
      },
    })
  })
  const foreign = { id: 'foreign', vault, liquidity: 1n, freed: [0n, 0n], isForeign: true } as const
  const open = Array.from({ length: exits }, (_, index): Holding => {
    return { id: String(index), vault, liquidity: 1n, freed: [0n, 0n] }
  })
  const venues = new Venues([venueOf((log) => ({ ...added(log), kind: 'decreased' }) as PositionChange)])
  const holdings = new Holdings(venues, kinds, new Set([vault]), [...closed, foreign, ...open])
  const logs = open.map(({ id }, index) => {
    const txHash = numberToHex(index, { size: 32 })
    return {
      address: pool,
      topics: [],
      data: numberToHex(Number(id)),
      block,
      blockHash: hash,
      txHash,
      txIndex: 0,
      logIndex: index,
    }
  })
  reads = 0
  const { events } = holdings.applyLogs(logs)
  expect(reads).toBe(0)
  expect(events.map(({ type }) => type)).toEqual([...open.slice(1).map(() => 'rebalance'), 'exit'])
})

test('ranges that a vault has left are not valued at marks, unless they have uncollected amounts', async () => {
  const held = ['1', '2', 'owing', '3'].map((id): Holding => ({ id, vault, liquidity: 0n, freed: [0n, 0n] }))
  const valued: string[] = []
  const venues = new Venues([
    {
      ...venueOf(added),
      readStored: (_, id) => Promise.resolve({ ...stored, liquidity: 0n, credited: [0n, id === 'owing' ? 7n : 0n] }),
      positionOf: (_, id, position) => {
        valued.push(id)
        const price = new Decimal(1)
        return Promise.resolve({
          ...position,
          venue: 'uniswap-v3',
          amounts: [0n, 0n],
          accrued: [0n, 0n],
          account: { key: id, owed: [0n, 7n] },
          emissions: null,
          currentTick: 0,
          prices: { lower: price, upper: price, current: price },
        })
      },
    },
  ])
  const adapter = { readStatement: () => Promise.resolve({ debts: [], totals: null }) } as unknown as VaultAdapter
  const state = { block: { number: block, hash }, readIfThere: () => Promise.resolve(0n) } as unknown as BlockState
  const prices = new TokenPrices(block).with(pool, new Decimal(1)).with(vault, new Decimal(1))
  const known = new Map(
    [pool, vault].map((address) => [address, { address, symbol: address, decimals: 0, stable: false }]),
  ) as unknown as Tokens
  const { valueUsd, positions } = await valueVault(
    state,
    { venues, tokens: known, prices: Promise.resolve(prices) },
    { vault, adapter, accounts: [owner] },
    { positions: held, strays: 0, foreign: [], requests: noRequests },
  )
  expect(valued).toEqual(['owing'])
  expect(valueUsd.toFixed()).toBe('7')
  expect(positions.map(({ id }) => id)).toEqual(['owing'])
})

const headerOf = (number: Hex): object => ({
  number,
  hash,
  parentHash: hash,
  timestamp: '0x65000000',
  logsBloom: `0x${'0'.repeat(512)}`,
})
