import { setTimeout } from 'node:timers/promises'
import { type Address, getAddress, type Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readHeader, readLogs } from '../../src/chain/rpc/block.ts'
import { bloomOf, mayHaveLogsOf } from '../../src/chain/rpc/bloom.ts'
import { initialPositions } from '../../src/chain/positions/initial-positions.ts'
import { readSecondFacts } from '../../src/chain/facts/second-facts.ts'
import { connectChain } from '../../src/chain/setup.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, optionsOf, type TestVault } from './support/reading.ts'

const many = 50
const large = 200
const largeTokens = 20

describeOnChain('a mark', () => {
  let chain: TestChain
  let protocol: Protocol
  const vaults: Operator[] = []

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [deployer] = chain.accounts as [Address]
    for (let index = 0; index < many; index++) {
      const vault = await openVault(chain, protocol, protocol.usdc)
      vaults.push(vault)
      await chain.block({ from: deployer, to: protocol.manager, data: mintData(vault.address, index) })
    }
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const mintData = (to: Address, index: number): Hex =>
    protocol.mintData(to, 190_000 + 10 * index, 210_000, [
      [protocol.usdc, 10n ** 9n],
      [protocol.weth, 10n ** 18n],
    ])

  /**
   * Responds to concurrent requests one after the other, with pauses.
   * @param requested receives every request; a repetition after a time-out adds no entry
   */
  function answersOneByOne(requested: Set<string>): Intercept {
    let last: Promise<unknown> = Promise.resolve()
    return ({ method, params }, pass) => {
      requested.add(JSON.stringify({ method, params }))
      const answer = last.then(() => setTimeout(20)).then(() => pass())
      last = answer
      return answer
    }
  }

  /** Returns the number of requests for the marks of one block, once the pools are known. */
  async function callsOfMarks(some: readonly TestVault[], tokens: readonly object[] = []): Promise<number> {
    const requested = new Set<string>()
    const proxy = await startProxy(chain.url, answersOneByOne(requested))
    const base = chainJson(
      proxy.url,
      protocol,
      some.map(({ address, firstBlock }) => ({ address, firstBlock })),
    )
    const json = { ...base, tokens: [...(base['tokens'] as object[]), ...tokens] }
    const reader = await connectChain(optionsOf(json), false)
    const header = await reader.rpc.ask((node) => node.block('latest'))
    const addresses = some.map(({ address }) => address)
    const holdings = await initialPositions(header, { ...reader, vaults: reader.config.vaults })
    const marked = new Map(addresses.map((address) => [address, holdings.of(address)]))
    const none = { opened: [], events: [], heldBefore: new Map(), owners: new Map(), faults: new Map() }
    const plan = { number: header.number, marked, minting: new Map(), changed: new Map(), ...none }
    const moment = { blocks: [{ plan, header }], end: header, marked, minting: new Map() }
    const { facts } = await readSecondFacts(moment, reader)
    requested.clear()
    expect((await readSecondFacts(moment, reader)).facts).toEqual(facts)
    const positions = facts.flatMap((fact) => (fact.kind === 'mark' ? fact.positions : []))
    expect(positions).toHaveLength(some.length)
    await proxy.close()
    for (const request of requested) expect(request).toMatch(/^{"method":"eth_call"/)
    return requested.size
  }

  test(`of ${many} vaults takes as many calls as those of one vault: two`, async () => {
    expect(await callsOfMarks(vaults.slice(0, 1))).toBe(2)
    expect(await callsOfMarks(vaults)).toBe(2)
  })

  test(`of ${large} vaults, with ${largeTokens} tokens, takes four at most`, async () => {
    const [deployer] = chain.accounts as [Address]
    const more: TestVault[] = [...vaults]
    const creation = artifacts.creationOf(artifacts.vault, protocol.usdc.address, deployer)
    while (more.length < large) {
      const receipts = await chain.block(...Array.from({ length: 10 }, () => ({ from: deployer, data: creation })))
      const created = receipts.map(({ contractAddress }) => getAddress(contractAddress as Address))
      const firstBlock = await chain.head()
      more.push(...created.map((address) => ({ address, firstBlock })))
      await chain.block(
        ...created.map((address, index) => ({ from: deployer, to: protocol.manager, data: mintData(address, index) })),
      )
    }
    const tokens: object[] = []
    while (tokens.length + protocol.tokens.length < largeTokens) {
      const symbol = `T${tokens.length}`
      const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.token, symbol, 18))
      tokens.push({ address, symbol, price: 'stable' })
    }
    await chain.mine(3)
    expect(await callsOfMarks(more, tokens)).toBeLessThanOrEqual(4)
  })

  test('returns logs whose bloom filter equals that of the block', async () => {
    let withLogs = 0
    for (let number = 1; number < 40; number++) {
      const tag = `0x${number.toString(16)}`
      const block = readHeader(await chain.request({ method: 'eth_getBlockByNumber', params: [tag, false] }))
      const logs = readLogs(await chain.request({ method: 'eth_getLogs', params: [{ blockHash: block.hash }] }))
      expect(bloomOf(logs)).toBe(block.logsBloom)
      for (const { address } of logs) expect(mayHaveLogsOf(block.logsBloom, address)).toBe(true)
      withLogs += logs.length
      expect(mayHaveLogsOf(bloomOf([]), protocol.manager)).toBe(false)
    }
    expect(withLogs).toBeGreaterThan(20)
  })
})
