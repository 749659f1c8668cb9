import { type Address, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ChainDiverged, ChainUnreadable } from '../../src/chain/errors.ts'
import { chainFeed, chainName } from '../../src/chain/feed.ts'
import { initialPositions } from '../../src/chain/positions/initial-positions.ts'
import { BlockState } from '../../src/chain/rpc/multicall.ts'
import { connectChain } from '../../src/chain/setup.ts'
import type { Database } from '../../src/database/database.ts'
import { inChain, readFeedPosition } from '../../src/database/write/feed.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { emptyDatabase } from '../support/database.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { applyChain, chainJson, type ChainJson, optionsOf, shortFaultTimes } from './support/reading.ts'

const transfer = toEventSelector('Transfer(address,address,uint256)')

describeOnChain('vaults that are behind the others', () => {
  let chain: TestChain
  let protocol: Protocol
  let alice: Address
  let good: Operator
  let late: Operator
  let intercept: Intercept
  let proxy: Awaited<ReturnType<typeof startProxy>>

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[, , alice] = chain.accounts as [Address, Address, Address]
    good = await openVault(chain, protocol, protocol.usdc)
    late = await openVault(chain, protocol, protocol.usdc)
    for (let times = 0; times < 6; times++) {
      await chain.block(good.deposit(alice, usdc(5)), late.deposit(alice, usdc(7)))
      await chain.mine(6)
    }
    proxy = await startProxy(chain.url, (request, pass) => intercept(request, pass))
  }, patienceMilliseconds)
  afterAll(async () => {
    await proxy.close()
    await chain.stop()
  })

  const jsonOf = (url: string): ChainJson =>
    chainJson(
      url,
      protocol,
      [good, late].map(({ address, firstBlock }) => ({ address, firstBlock })),
    )
  const positionIn = async (database: Database, json: ChainJson) =>
    inChain(await readFeedPosition(database.prisma, chainName(optionsOf(json).config)))
  const depositsIn = (database: Database): Promise<number> =>
    database.prisma.ledgerRow.count({ where: { type: 'deposit', vault: { address: late.address } } })

  test('are read up to these, also where a node lags at the start', async () => {
    const database = await emptyDatabase()
    const refused = new Map([[late.address, 'for a while']])
    await ingest({ database, source: chainFeed({ ...optionsOf(jsonOf(chain.url)), refused }, null) })
    expect(await depositsIn(database)).toBe(0)
    let lagging = 0
    intercept = (request, pass) => {
      if (request.params[0] !== 'latest' || ++lagging > 3) return pass()
      return pass({ ...request, params: [`0x${(late.firstBlock + 12).toString(16)}`, false] })
    }
    await applyChain(database, jsonOf(proxy.url))
    expect(lagging).toBeGreaterThan(3)
    expect(await depositsIn(database)).toBe(6)
  })

  test('do not wait for nodes that lack the transfers of old blocks', async () => {
    intercept = (request, pass) =>
      request.method === 'eth_getLogs' && JSON.stringify(request.params).includes(transfer)
        ? Promise.resolve({ error: { code: 4444, message: 'pruned history unavailable' } })
        : pass()
    const options = optionsOf(jsonOf(proxy.url), { once: false, signal: AbortSignal.timeout(patienceMilliseconds) })
    const retry = { firstMilliseconds: 2, maxMilliseconds: 20, faultTimes: shortFaultTimes }
    const connection = await connectChain({ ...options, retry }, false)
    const { impatientRpc, multicall, acquisitions } = connection
    const block = await connection.rpc.ask((node) => node.block('latest'))
    const held = (await initialPositions(block, { ...connection, vaults: [] })).of(good.address)
    const state = new BlockState(impatientRpc, multicall, block)
    await expect(acquisitions.include(state, good.address, protocol.weth.address, held)).rejects.toThrow(
      ChainUnreadable,
    )
  })

  test('do not hide a reorganisation that is deeper than the finality', async () => {
    const database = await emptyDatabase()
    const refused = new Map([[late.address, 'for a while']])
    const json = jsonOf(chain.url)
    await ingest({ database, source: chainFeed({ ...optionsOf(json), refused }, null) })
    await chain.request({ method: 'anvil_reorg', params: [20, []] })
    await chain.request({ method: 'anvil_dropAllTransactions' })
    await chain.mine(6)
    await expect(applyChain(database, json)).rejects.toThrow(ChainDiverged)
    // A refused vault is behind, too, and its block of the other fork is not requested.
    const source = chainFeed({ ...optionsOf(json), refused }, await positionIn(database, json))
    await expect(ingest({ database, source })).rejects.toThrow(ChainDiverged)
  })
})
