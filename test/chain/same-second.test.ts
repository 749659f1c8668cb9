import type { Address, Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tailBlocks } from '../../src/chain/rpc/log-ranges.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { type Call, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { inOneSecond, maxAttempts, mineSecond } from './support/one-second.ts'
import { logsOf, openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, type ChainJson, linesOf, type ReaderMessage, shortFaultTimes } from './support/reading.ts'
import { openStrays, transferOf } from './support/strays.ts'
import { deployV4, v4CallsOf } from './support/v4.ts'

/** Flag of a hook that is called after liquidity was removed. */
const removalFlag = 0x0100

describeOnChain('vaults that change in several blocks of one second', () => {
  let chain: TestChain
  let protocol: Protocol
  let alice: Address
  let bob: Address

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  /** Returns the values of a vault's marks by time, from blocks that are read one by one and in ranges. */
  async function valuesOf(
    { address, firstBlock }: Operator,
    more: ChainJson = {},
  ): Promise<ReadonlyMap<number, string>> {
    const json = chainJson(chain.url, protocol, [{ address, firstBlock }], more)
    const values: ReadonlyMap<number, string>[] = []
    for (const blocks of [4, 80]) {
      await chain.mine(blocks)
      const messages: ReaderMessage[] = []
      const facts = (await linesOf(json, messages)).map((line) => JSON.parse(line) as FactInput)
      expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
      const marks = facts.flatMap((fact) => (fact.kind === 'mark' ? [[fact.ts, fact.valueUsd] as const] : []))
      values.push(new Map(marks))
    }
    const [singly, inRanges] = values as [ReadonlyMap<number, string>, ReadonlyMap<number, string>]
    expect([...inRanges].slice(0, singly.size)).toEqual([...singly])
    return singly
  }

  test('have no facts of a second that goes on after the final block, also where it has many blocks', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc)
    await chain.block(vault.deposit(alice, usdc(10)))
    const timestamp = await mineSecond(chain, tailBlocks + 6)
    const { address, firstBlock } = vault
    const json = chainJson(chain.url, protocol, [{ address, firstBlock }], { markEveryBlocks: 1 })
    const read = async (): Promise<[number, number]> => {
      const messages: ReaderMessage[] = []
      const lines = await linesOf(json, messages, shortFaultTimes)
      expect(messages.filter(({ level }) => level !== 'info')).toEqual([])
      const times = lines.map((line) => (JSON.parse(line) as FactInput).ts)
      return [Math.max(...times), new Set(times).size]
    }
    const [newest, seconds] = await read()
    expect(newest).toBeLessThan(timestamp)
    // The second ends with the first of these, which is not final yet.
    await chain.mine(2)
    expect(await read()).toEqual([newest, seconds])
    await chain.mine()
    expect(await read()).toEqual([timestamp, seconds + 1])
  })

  test('are marked with the positions that they hold after the last one, such as one of another account', async () => {
    const strays = await openStrays(chain, protocol)
    const vault = await openVault(chain, protocol, protocol.usdc)
    const time = await inOneSecond(chain, [vault.deposit(alice, usdc(10))], [strays.mintTo(vault.address)])
    const values = await valuesOf(vault)
    expect(Number(values.get(time)) % 10).toBe(0)
    expect(values.get(time)).not.toBe('0')
  })

  test('are marked with those that are refused for the hook of their pool', async () => {
    const v4 = await deployV4(chain, protocol)
    const hooks = await v4.createHook(removalFlag)
    const key = await v4.createPool([protocol.weth, 10n ** 18n], [protocol.usdc, 2_000_000_000n], { hooks })
    const [stranger] = chain.accounts as [Address]
    const vault = await openVault(chain, protocol, protocol.usdc)
    const { fund, mint } = v4CallsOf(v4.manager, stranger)
    const minting = [
      fund(protocol.usdc, usdc(90_000)),
      fund(protocol.weth, weth(90)),
      mint(key, [-887_220, 887_220], 10n ** 12n, vault.address),
    ].map(([to, data]) => ({ from: stranger, to, data }))
    const time = await inOneSecond(chain, [vault.deposit(alice, usdc(10))], minting)
    const values = await valuesOf(vault, { otherPositionManagers: [v4.manager] })
    expect(Number(values.get(time)) % 10).toBe(0)
    expect(values.get(time)).not.toBe('0')
  })

  test('hold positions as these are at their arrival, also where others changed or made them in the block before', async () => {
    const [stranger] = chain.accounts as [Address]
    const vault = await openVault(chain, protocol, protocol.usdc)
    await chain.block(vault.deposit(alice, usdc(10)))
    const ofStranger = (data: Hex): Call => ({ from: stranger, to: protocol.manager, data })
    const amounts = [
      [protocol.usdc, usdc(3_000)],
      [protocol.weth, weth(1)],
    ] as const
    const mint = ofStranger(protocol.mintData(stranger, -887_270, 887_270, amounts))
    const older: bigint[] = []
    for (let made = 0; made < maxAttempts; made++) {
      const [receipt] = await chain.block(mint)
      const decoded =
        receipt && logsOf(receipt, stranger, protocol.manager).find(({ name }) => name === 'IncreaseLiquidity')
      older.push(decoded?.args['tokenId'] as bigint)
    }
    const newest = older.at(-1) as bigint
    const time = await inOneSecond(
      chain,
      (attempt) => [ofStranger(protocol.increaseData(older[attempt] as bigint, usdc(70), usdc(70))), mint],
      (attempt) =>
        [older[attempt] as bigint, newest + 1n + BigInt(attempt)].map((id) =>
          transferOf(protocol, stranger, vault.address, id),
        ),
    )
    const values = await valuesOf(vault)
    expect(Number(values.get(time))).toBeGreaterThan(1_000)
  })

  test('hold positions of Uniswap v4 as these are at their arrival, too', async () => {
    const v4 = await deployV4(chain, protocol)
    const key = await v4.createPool([protocol.weth, 10n ** 18n], [protocol.usdc, 2_000_000_000n])
    const [stranger] = chain.accounts as [Address]
    const vault = await openVault(chain, protocol, protocol.usdc)
    await chain.block(vault.deposit(alice, usdc(10)))
    const { fund, mint, increase, transfer } = v4CallsOf(v4.manager, stranger)
    const ofStranger = ([to, data]: readonly [Address, Hex]): Call => ({ from: stranger, to, data })
    const funds = [fund(protocol.usdc, usdc(90_000)), fund(protocol.weth, weth(90))].map(ofStranger)
    const first = await v4.nextId()
    const minting = ofStranger(mint(key, [-887_220, 887_220], 10n ** 12n))
    for (let made = 0; made < maxAttempts; made++) await chain.block(...funds, minting)
    const time = await inOneSecond(
      chain,
      (attempt) => [...funds, ofStranger(increase(key, first + BigInt(attempt), 10n ** 12n))],
      (attempt) => [ofStranger(transfer(vault.address, first + BigInt(attempt)))],
    )
    const values = await valuesOf(vault, { otherPositionManagers: [v4.manager] })
    expect(Number(values.get(time))).toBeGreaterThan(11)
  })

  test('are marked without what was requested in the last one', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    const request = vault.callOf(bob, 'requestDeposit', usdc(7), bob, bob)
    const time = await inOneSecond(chain, [vault.deposit(alice, usdc(10))], [request])
    const values = await valuesOf(vault)
    expect(Number(values.get(time)) % 10).toBe(0)
    expect(values.get(time)).not.toBe('0')
  })
})
