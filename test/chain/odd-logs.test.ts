import { type Address, concatHex, type Hex, numberToHex, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { initialPositions } from '../../src/chain/positions/initial-positions.ts'
import { connectChain } from '../../src/chain/setup.ts'
import { checkVaults } from '../../src/chain/vaults/check-vaults.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import {
  chainJson,
  type ChainJson,
  factsOf,
  linesOf,
  optionsOf,
  type ReaderMessage,
  type TestVault,
} from './support/reading.ts'
import { reverting } from './support/runtime-code.ts'

/** Returns code that logs these topics, without data, at any call. */
const logging = (...topics: readonly Hex[]): Hex =>
  concatHex([
    ...topics.toReversed().map((topic) => concatHex(['0x7f', topic])),
    '0x5f5f',
    numberToHex(0xa0 + topics.length, { size: 1 }),
    '0x00',
  ])
/** Code that responds to any call with a word of 0. */
const sayingNothing: Hex = '0x60205ff3'

describeOnChain('contracts that log or begin in an odd way', () => {
  let chain: TestChain
  let protocol: Protocol
  let [deployer, owner, alice, heir] = [] as unknown as [Address, Address, Address, Address]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[deployer, owner, alice, heir] = chain.accounts as [Address, Address, Address, Address]
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = ({ address, firstBlock }: TestVault): ChainJson =>
    chainJson(chain.url, protocol, [{ address, firstBlock }], { markEveryBlocks: 1_000 })

  /** Replaces the code of a contract while some blocks are mined. */
  async function withCode(address: Address, code: Hex, work: () => Promise<unknown>): Promise<void> {
    const own = await chain.request({ method: 'eth_getCode', params: [address, 'latest'] })
    await chain.request({ method: 'anvil_setCode', params: [address, code] })
    await work()
    await chain.request({ method: 'anvil_setCode', params: [address, own] })
    await chain.mine()
  }
  const word = (address: Address): Hex => numberToHex(BigInt(address), { size: 32 })

  test('do not change the owner of a vault where its strategy has a new one', async () => {
    const data = artifacts.creationOf(artifacts.beefyVault, protocol.ethPool, owner, alice, protocol.weth.address)
    const vault = { address: await chain.deploy(deployer, data), firstBlock: await chain.head() }
    const { abi } = artifacts.beefyVault
    const strategy = await chain.client.readContract({ address: vault.address, abi, functionName: 'strategy' })
    const transferred = toEventSelector('OwnershipTransferred(address,address)')
    await chain.mine()
    await withCode(strategy as Address, logging(transferred, word(owner), word(heir)), () =>
      chain.block({ from: alice, to: strategy as Address, data: '0x' }),
    )
    await chain.mine(5)
    const facts = await factsOf(jsonOf(vault))
    expect(facts.map(({ kind }) => kind)).toEqual(['strategy', 'vault'])
  })

  test('set their vault aside where a request of old blocks has another form', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    const requested = toEventSelector('DepositRequest(address,address,uint256,address,uint256)')
    await withCode(vault.address, logging(requested, word(alice), word(alice), word(alice)), () =>
      chain.block({ from: alice, to: vault.address, data: '0x' }),
    )
    await chain.mine(5)
    const connection = await connectChain(optionsOf(jsonOf(vault)), false)
    const block = await connection.rpc.ask((node) => node.block('latest'))
    await expect(initialPositions(block, { ...connection, vaults: connection.config.vaults })).rejects.toMatchObject({
      name: 'ContractMismatch',
      vault: vault.address,
    })
  })

  test.each([
    ['answer nothing', sayingNothing],
    ['revert', reverting],
  ])('are read from the block on in which they are initialised, where they %s before', async (_name, code) => {
    const created = await openVault(chain, protocol, protocol.usdc)
    await withCode(created.address, code, () => chain.mine(2))
    // The node counts the code as that of the block before.
    const firstBlock = (await chain.head()) - 1
    await chain.block(created.deposit(alice, usdc(5)))
    await chain.mine(5)
    const messages: ReaderMessage[] = []
    const vault: TestVault & Pick<Operator, 'owner'> = { ...created, firstBlock }
    const lines = await linesOf(jsonOf(vault), messages)
    expect(messages.filter(({ level }) => level === 'error')).toEqual([])
    expect(lines.filter((line) => line.includes('"deposit"'))).toHaveLength(1)
    expect(await missingOf(vault)).toEqual([])
    // Neither before that, nor when it has shares.
    expect(await missingOf({ ...vault, firstBlock: firstBlock - 1 })).toHaveLength(1)
    expect(await missingOf({ ...vault, firstBlock: firstBlock + 3 })).toEqual([
      expect.stringContaining('is there before its firstBlock, already'),
    ])
  })

  async function missingOf(vault: TestVault): Promise<readonly string[]> {
    const [report] = await checkVaults(await connectChain(optionsOf(jsonOf(vault)), false))
    return report?.missing ?? []
  }
})
