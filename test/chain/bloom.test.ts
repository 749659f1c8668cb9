import { type Address, type Hex, hexToBytes, keccak256, numberToHex, padHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mayMatch } from '../../src/chain/rpc/bloom.ts'
import { erc4626 } from '../../src/chain/vaults/erc4626.ts'
import { nftPositions } from '../../src/chain/venues/nft-positions.ts'
import { Pools } from '../../src/chain/venues/pools.ts'
import { type Call, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, linesOf } from './support/reading.ts'

interface LogRequest {
  readonly blockHash?: Hex
  readonly address?: unknown
}

const venueOf = ({ manager: address }: Protocol) =>
  nftPositions({ address, pools: new Pools(), isSlipstream: false, prefix: '' })

describeOnChain('a block whose bloom filter is falsely positive', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let alice: Address
  /** Expected facts, read with the logs of all blocks. */
  let right: string[]
  const fakes = new Set<Hex>()

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    const [deployer] = chain.accounts as [Address]
    ;[, , alice] = chain.accounts as [Address, Address, Address]
    const mint = protocol.mintData(vault.address, 190_000, 210_000, [
      [protocol.usdc, 10n ** 9n],
      [protocol.weth, 10n ** 18n],
    ])
    await chain.block(vault.deposit(alice, 10n ** 9n))
    await chain.block({ from: deployer, to: protocol.manager, data: mint })
    await chain.mine(80)
    const owner = padHex(vault.address, { size: 32 })
    const [transfer = '0x', increase = '0x'] = venueOf(protocol).topics
    const values: Hex[][] = [
      [vault.address, erc4626.topics[0] ?? '0x'],
      [vault.address, erc4626.topics[2] ?? '0x'],
      [protocol.manager, transfer, owner],
      [protocol.manager, increase, numberToHex(3n, { size: 32 })],
      [vault.address, ...erc4626.topics, protocol.manager, transfer, owner],
    ]
    for (const some of values) {
      await fake(some)
      await chain.block(vault.deposit(alice, 10n ** 7n))
      await fake(some)
    }
    await chain.mine(3)
    right = await linesOf(jsonOf(chain.url))
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (url: string) =>
    chainJson(url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }], { markEveryBlocks: 1_000 })

  /** Mines a block in which logs of other contracts set the bloom bits of these values. */
  async function fake(values: readonly Hex[], ...calls: Call[]): Promise<void> {
    const spenders = coveringTopics(values.flatMap(bitsOf))
    await chain.block(...spenders.map((spender) => protocol.approve(alice, protocol.weth, spender)), ...calls)
    const { hash, logsBloom } = await chain.client.getBlock()
    const filters = [{ address: vault.address, topics: [erc4626.topics] }, ...changes()]
    expect(filters.some((filter) => mayMatch(logsBloom, filter))).toBe(true)
    fakes.add(hash)
  }

  function changes() {
    const venue = venueOf(protocol)
    return [...venue.movesOf([vault.address]), ...venue.changesOf(['3'])]
  }

  /** Returns the facts, and the requests for logs of single blocks. */
  async function read(
    intercept: Intercept = (_, pass) => pass(),
  ): Promise<{ lines: string[]; requests: LogRequest[] }> {
    const requests: LogRequest[] = []
    const proxy = await startProxy(chain.url, (request, pass) => {
      const filter = request.method === 'eth_getLogs' ? (request.params[0] as LogRequest) : {}
      if (filter.blockHash !== undefined) requests.push(filter)
      return intercept(request, pass)
    })
    const lines = await linesOf(jsonOf(proxy.url))
    await proxy.close()
    return { lines, requests }
  }

  test('costs one request for logs, of the known addresses', async () => {
    const { lines, requests } = await read()
    expect(lines).toEqual(right)
    expect(fakes.size).toBe(10)
    expect(requests.filter(({ address }) => address === undefined)).toEqual([])
    const ofFakes = requests.flatMap(({ blockHash }) => (blockHash && fakes.has(blockHash) ? [blockHash] : []))
    expect(ofFakes.length).toBeLessThanOrEqual(fakes.size)
    expect(new Set(ofFakes).size).toBe(ofFakes.length)
    expect(ofFakes.length).toBeGreaterThan(5)
  })

  test('does not prevent the detection of missing logs of known addresses', async () => {
    const { lines, requests } = await read(async (request, pass) => {
      if (request.method !== 'eth_getLogs') return pass()
      const { blockHash, address } = request.params[0] as LogRequest
      return blockHash !== undefined && address !== undefined ? { result: [] } : pass()
    })
    expect(lines).toEqual(right)
    // All logs are requested only where the state has changed.
    const ofAll = requests.flatMap(({ blockHash, address }) => (blockHash && address === undefined ? [blockHash] : []))
    expect(ofAll.length).toBeGreaterThanOrEqual(5)
    expect(ofAll.filter((hash) => fakes.has(hash))).toEqual([])
  })

  test('is read with all its logs where the state of a vault has changed without any of its own', async () => {
    const before = fakes.size
    await fake([vault.address, erc4626.topics[0] ?? '0x'], protocol.mint(vault.address, protocol.weth, 5n))
    await chain.mine(5)
    const { lines, requests } = await read()
    expect(lines).toEqual(right)
    expect(fakes.size).toBe(before + 1)
    const ofAll = requests.flatMap(({ blockHash, address }) => (blockHash && address === undefined ? [blockHash] : []))
    expect(ofAll).toEqual([...fakes].slice(-1))
  })
})

/** Returns addresses that set all these bits when they are topics. */
function coveringTopics(wanted: readonly number[]): Address[] {
  const missing = new Set(wanted)
  const found: Address[] = []
  for (let number = 1n; missing.size > 0; number++) {
    const address = numberToHex(number, { size: 20 })
    const bits = bitsOf(padHex(address, { size: 32 }))
    if (!bits.some((bit) => missing.has(bit))) continue
    bits.forEach((bit) => missing.delete(bit))
    found.push(address)
  }
  return found
}

function bitsOf(value: Hex): number[] {
  const hash = keccak256(hexToBytes(value))
  return [0, 2, 4].map((at) => Number(`0x${hash.slice(2 + 2 * at, 6 + 2 * at)}`) & 2_047)
}
