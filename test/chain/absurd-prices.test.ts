import { type Address, concatHex, type Hex, numberToHex, size, toEventSelector } from 'viem'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import {
  type Call,
  callOf,
  describeOnChain,
  patienceMilliseconds,
  startChain,
  type TestChain,
} from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, feeTier, type Protocol, sorted, squareRoot, type TestToken } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { chainJson, type EventFact, linesOf, type ReaderMessage } from './support/reading.ts'

describeOnChain('a token whose pool anybody can buy empty', () => {
  let chain: TestChain
  let protocol: Protocol
  let deployer: Address
  let alice: Address
  let token: TestToken
  let pool: Address
  let vault: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [first, , third, , trader] = chain.accounts as [Address, Address, Address, Address, Address]
    ;[deployer, alice] = [first, third]
    const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.token, 'THIN', 18))
    token = { address, symbol: 'THIN', decimals: 18 }
    await chain.block(
      ...[deployer, trader].map((account) => protocol.mint(account, token, 10n ** 30n)),
      protocol.approve(deployer, token, protocol.manager),
      protocol.approve(trader, token, protocol.router),
    )
    pool = await createThinPool()
  }, patienceMilliseconds)
  beforeEach(async () => {
    vault = await openVault(chain, protocol, protocol.usdc)
    await chain.block(vault.deposit(alice, usdc(1_000)))
  })
  afterAll(() => chain.stop())

  /** Creates a pool with a price of 1 USDC, and liquidity in a narrow range around it. */
  async function createThinPool(): Promise<Address> {
    const pair = [
      [token, weth(1_000)],
      [protocol.usdc, usdc(1_000)],
    ] as const
    const [[token0, units0], [token1, units1]] = sorted(pair)
    const args = [token0.address, token1.address, feeTier, squareRoot((units1 << 192n) / units0)]
    const { abi } = artifacts.manager
    await chain.block(callOf(deployer, protocol.manager, abi, 'createAndInitializePoolIfNecessary', args))
    // The twelve decimals of difference are as many ticks.
    const tick = token0 === token ? -276_320 : 276_320
    const data = protocol.mintData(deployer, tick - 1_000, tick + 1_000, pair)
    await chain.block({ from: deployer, to: protocol.manager, data })
    return (await chain.client.readContract({
      address: protocol.factory,
      abi: artifacts.factory.abi,
      functionName: 'getPool',
      args: [token0.address, token1.address, feeTier],
    })) as Address
  }

  const buyAll = (): Call => protocol.swap(protocol.usdc, token, usdc(100_000))
  const sellSome = (): Call => protocol.swap(token, protocol.usdc, weth(900))
  const give = (): Call => callOf(deployer, token.address, artifacts.token.abi, 'transfer', [vault.address, 10n])

  async function read(price: unknown = [pool], url = chain.url) {
    const { address, firstBlock } = vault
    const json = chainJson(url, protocol, [{ address, firstBlock }], { markEveryBlocks: 1 })
    const tokens = [...(json['tokens'] as object[]), { address: token.address, symbol: 'THIN', price }]
    const messages: ReaderMessage[] = []
    const facts = (await linesOf({ ...json, tokens }, messages)).map((line) => JSON.parse(line) as FactInput)
    const messagesOf = (level: string): string[] =>
      messages.filter((one) => one.level === level).map(({ message }) => message)
    const values = new Map(facts.flatMap((fact) => (fact.kind === 'mark' ? [[fact.ts, fact.valueUsd] as const] : [])))
    const events = facts.flatMap((fact): EventFact[] => (fact.kind === 'event' ? [fact] : []))
    return { facts, values, events, errors: messagesOf('error'), warnings: messagesOf('warn') }
  }
  /** Makes a vault log a deposit whose assets were not transferred. */
  async function logUnpaidDeposit(assets: bigint): Promise<void> {
    const { address } = vault
    const own = await chain.request({ method: 'eth_getCode', params: [address, 'latest'] })
    await chain.request({ method: 'anvil_setCode', params: [address, loggingDeposit(token.address, alice, assets)] })
    await chain.block({ from: alice, to: address, data: '0x' })
    await chain.request({ method: 'anvil_setCode', params: [address, own] })
    await chain.mine(12)
  }
  const now = async (): Promise<number> => Number((await chain.client.getBlock()).timestamp)

  test('counts as nothing where another account has sent it and its value exceeds the limits of a fact', async () => {
    await chain.block(give())
    await chain.block(buyAll(), vault.deposit(alice, usdc(7)))
    const absurd = await now()
    await chain.block(sellSome())
    const usual = await now()
    await chain.mine(6)
    const { values, events, errors, warnings } = await read()
    expect(errors).toEqual([])
    expect(warnings).toEqual([
      expect.stringMatching(
        /^Tokens that others have sent to a vault count as nothing: THIN has no price at block \d+: at \d+\.?\d* USD an amount would be worth \d/,
      ),
    ])
    expect(values.get(absurd)).toBe('1007')
    expect(Number(values.get(usual))).toBeCloseTo(1_007, 5)
    expect(events).toMatchObject([
      { type: 'deposit', amountUsd: '1000' },
      { type: 'deposit', amountUsd: '7', valueBeforeUsd: '1000' },
    ])
  })

  test('delays marks where the vault has bought it, and is valued at an earlier price for a deposit', async () => {
    const swap = protocol.swapData(vault.address, protocol.usdc, token, usdc(100))
    await chain.block(vault.run([protocol.router, swap]))
    const bought = await now()
    await chain.block(buyAll())
    await chain.block(vault.deposit(alice, usdc(7)))
    const absurd = await now()
    await chain.block(sellSome())
    const usual = await now()
    await chain.mine(6)
    const { values, events, errors, warnings } = await read()
    expect(errors).toEqual([])
    expect(warnings.sort()).toEqual([
      expect.stringMatching(/^Capital and fees are valued at an earlier price: THIN has no price at block \d+: at /),
      expect.stringMatching(/^Marks wait for a price: THIN has no price at block \d+: at /),
    ])
    expect(values.has(bought)).toBe(true)
    expect([...values.keys()].filter((ts) => ts > bought && ts <= absurd)).toEqual([])
    expect(Number(values.get(usual))).toBeGreaterThan(900)
    // The last price that is not absurd is that of the purchase.
    expect(events.at(-1)).toMatchObject({ type: 'deposit', amountUsd: '7', valueBeforeUsd: values.get(bought) })
  })

  test('delays marks where the vault has bought it, and others have sold so much that it is 0 with 18 decimals', async () => {
    const swap = protocol.swapData(vault.address, protocol.usdc, token, usdc(100))
    await chain.block(vault.run([protocol.router, swap]))
    const bought = await now()
    await chain.block(protocol.swap(token, protocol.usdc, weth(5_000)))
    const absurd = await now()
    await chain.block(buyAll())
    await chain.block(sellSome())
    const usual = await now()
    await chain.mine(6)
    const { values, errors, warnings } = await read()
    expect(errors).toEqual([])
    expect(warnings).toEqual([
      expect.stringMatching(/^Marks wait for a price: THIN has no price at block \d+: it is 0 with 18 dec/),
    ])
    expect(values.has(bought)).toBe(true)
    expect(values.has(absurd)).toBe(false)
    expect(Number(values.get(usual))).toBeGreaterThan(900)
  })

  test('is not searched for at earlier blocks where a vault logs a greater amount than the total supply', async () => {
    await chain.mine(40)
    vault = await openVault(chain, protocol, token)
    await chain.block(vault.deposit(alice, weth(5)))
    await logUnpaidDeposit(10n ** 60n)
    const requested = new Set<number>()
    const proxy = await startProxy(chain.url, (request, pass) => {
      if (request.method === 'eth_getBlockByNumber') requested.add(Number(request.params[0]))
      return pass()
    })
    await expect(read([pool], proxy.url)).rejects.toThrow(
      /^THIN has no price at block \d+: at [\d.]+ USD an amount would be worth [\d.]+ USD, and is of more than there is$/,
    )
    await proxy.close()
    expect([...requested].filter((number) => number < vault.firstBlock - 1)).toEqual([])
  })

  test('stops no vault where its price has more digits than a fact can have', async () => {
    const feed = await chain.deploy(deployer, artifacts.creationOf(artifacts.feed, 0))
    await chain.block(callOf(deployer, feed, artifacts.feed.abi, 'set', [10n ** 60n - 1n]))
    const most = await now()
    await chain.block(callOf(deployer, feed, artifacts.feed.abi, 'set', [10n ** 60n]))
    await chain.mine(6)
    const { facts, errors } = await read({ feed, maxAgeSeconds: 1_000 })
    expect(errors).toEqual([])
    const marks = facts.flatMap((fact) => (fact.kind === 'mark' ? [fact] : []))
    expect(marks.find(({ ts }) => ts === most)?.prices).toHaveProperty('THIN', '9'.repeat(60))
    expect(marks.at(-1)?.prices).not.toHaveProperty('THIN')
  })
})

/** Returns code that logs a deposit with equal assets and shares where it is called without data; else it returns the asset. */
function loggingDeposit(asset: Address, account: Address, assets: bigint): Hex {
  const push = (value: Hex): Hex => concatHex(['0x7f', numberToHex(BigInt(value), { size: 32 })])
  const topics = [toEventSelector('Deposit(address,address,uint256,uint256)'), account, account]
  const amount = push(numberToHex(assets))
  // For the log: PUSH32, PUSH0, MSTORE; PUSH32, PUSH1, MSTORE; three PUSH32, PUSH1, PUSH0, LOG3, STOP.
  const log = concatHex([amount, '0x5f52', amount, '0x602052', ...topics.toReversed().map(push), '0x60405fa300'])
  // CALLDATASIZE, PUSH1, JUMPI; and for the answer: JUMPDEST, PUSH32, PUSH0, MSTORE, PUSH1, PUSH0, RETURN.
  return concatHex([
    '0x3660',
    numberToHex(4 + size(log), { size: 1 }),
    '0x57',
    log,
    '0x5b',
    push(asset),
    '0x5f5260205ff3',
  ])
}
