import { setTimeout as wait } from 'node:timers/promises'
import { type Address, getContractAddress, zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { chainFeed } from '../../src/chain/feed.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import {
  type ChainJson,
  chainJson,
  factsOf,
  linesAfter,
  optionsOf,
  positionsOf,
  type ReaderMessage,
} from './support/reading.ts'

const finality = 6

describeOnChain('a vault whose first block is not final yet', () => {
  let chain: TestChain
  let protocol: Protocol

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    await chain.mine(finality)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  test('is waited for, and read although that block and the one before are reorganised meanwhile', async () => {
    const [deployer, owner] = chain.accounts as [Address, Address]
    const data = artifacts.creationOf(artifacts.vault, protocol.usdc.address, owner)
    const address = await chain.deploy(deployer, data)
    const firstBlock = await chain.head()
    await chain.mine()
    const json = chainJson(chain.url, protocol, [{ address, firstBlock }], { finality })
    expect(await factsOf(json)).toEqual([])

    const messages: ReaderMessage[] = []
    const stopping = new AbortController()
    const source = chainFeed(optionsOf(json, { once: false, signal: stopping.signal, messages }), null)
    const waits = new Promise<number>((resolve) => {
      source.onEnd(({ block }) => Promise.resolve(resolve(block.number)))
    })
    const reading = firstOf(source.facts)
    const final = (await chain.head()) - finality
    const reported = await Promise.race([waits, reading])
    const creation = { from: deployer, data, gas: '0x895440' }
    await chain.request({ method: 'anvil_reorg', params: [3, [[creation, 1]]] })
    await chain.mine(finality + 1)
    expect(await reading).toMatchObject([{ kind: 'strategy' }, { kind: 'vault', vault: address }, { kind: 'mark' }])
    stopping.abort()
    expect(reported).toBe(final)
    expect(messages).toEqual([
      { level: 'info', message: 'The first vault begins after the newest final block', facts: { firstBlock, final } },
    ])
  })

  test('is not waited for at a node that serves another chain meanwhile', async () => {
    let isOther = false
    const proxy = await startProxy(chain.url, async (request, pass) => {
      return isOther && request.method === 'eth_chainId' ? { result: '0x5' } : pass()
    })
    const address = getContractAddress({ from: chain.accounts[0] as Address, nonce: 1_000n })
    const json = chainJson(proxy.url, protocol, [{ address, firstBlock: 1_000_000 }], { finality })
    const reading = follow(json)
    await vi.waitFor(() => expect(reading.readTo()).toBeGreaterThan(0), patienceMilliseconds / 4)
    isOther = true
    const ended = reading.ended.then(() => 'ended', String)
    const outcome = await Promise.race([ended, wait(patienceMilliseconds / 4, 'waits')])
    await reading.stop().catch(() => undefined)
    await proxy.close()
    expect(outcome).toMatch(/^WrongChain: .*31337/)
  })

  test('has the same facts as later where it is created after the start, and mints shares without a deposit', async () => {
    const [deployer, owner] = chain.accounts as [Address, Address]
    const asset = protocol.usdc.address
    const twin = await chain.deploy(deployer, artifacts.creationOf(artifacts.feeVault, asset, owner, zeroAddress))
    const nonce = BigInt(await chain.client.getTransactionCount({ address: deployer }))
    const address = getContractAddress({ from: deployer, nonce })
    const firstBlock = (await chain.head()) + 2
    const json = chainJson(chain.url, protocol, [{ address, firstBlock }], { finality, markEveryBlocks: 1_000 })
    const reading = follow(json)
    await vi.waitFor(() => expect(reading.readTo()).toBeGreaterThan(0), patienceMilliseconds / 4)
    await chain.mine()
    await chain.deploy(deployer, artifacts.creationOf(artifacts.vault, asset, owner))
    await chain.mine()
    // The vault has this function, which it does not have before and after, for one block only.
    const [code, minting] = await Promise.all([address, twin].map((one) => chain.client.getCode({ address: one })))
    const minted = (name: string, value: unknown) => callOf(owner, address, artifacts.feeVault.abi, name, [value])
    await chain.request({ method: 'anvil_setCode', params: [address, minting] })
    await chain.block(
      minted('setFeeRecipient', owner),
      minted('accrue', usdc(5)),
      minted('setFeeRecipient', zeroAddress),
    )
    await chain.request({ method: 'anvil_setCode', params: [address, code] })
    await chain.mine(finality + 2)
    const newest = (await chain.head()) - finality - 1
    await vi.waitFor(() => expect(reading.readTo()).toBe(newest), patienceMilliseconds / 4)
    const facts = await reading.stop()
    expect(facts).toEqual(await factsOf(json))
    expect(facts.map(({ kind }) => kind)).toEqual(['strategy', 'vault'])
  })

  test('has the same fees and high-water values, although it names no recipient at first', async () => {
    const [deployer, owner, alice] = chain.accounts as [Address, Address, Address]
    const asset = protocol.usdc.address
    const later = await chain.deploy(deployer, artifacts.creationOf(artifacts.feeVault, asset, owner, zeroAddress))
    const code = await chain.client.getCode({ address: later })
    const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.vault, asset, owner))
    const firstBlock = await chain.head()
    const json = chainJson(chain.url, protocol, [{ address, firstBlock }], { finality, markEveryBlocks: 1_000 })
    const reading = follow(json)
    await chain.mine(finality + 2)
    await vi.waitFor(() => expect(reading.readTo()).toBeGreaterThan(firstBlock), patienceMilliseconds / 4)
    await chain.request({ method: 'anvil_setCode', params: [address, code] })
    const call = (from: Address, name: string, ...args: unknown[]) =>
      callOf(from, address, artifacts.feeVault.abi, name, args)
    await chain.block(
      protocol.mint(alice, protocol.usdc, usdc(100)),
      protocol.approve(alice, protocol.usdc, address),
      call(alice, 'deposit', usdc(100), alice),
    )
    await chain.block(call(owner, 'setFeeRecipient', owner), call(owner, 'setHighWaterMark', 1_000_000n))
    await chain.block(call(owner, 'accrue', usdc(5)))
    await chain.mine(finality + 2)
    const newest = (await chain.head()) - finality - 1
    await vi.waitFor(() => expect(reading.readTo()).toBe(newest), patienceMilliseconds / 4)
    const facts = await reading.stop()
    expect(facts).toEqual(await factsOf(json))
    expect(facts.map((fact) => (fact.kind === 'event' ? fact.type : fact.kind))).toEqual([
      ...['strategy', 'vault', 'deposit', 'mark', 'fee', 'mark'],
    ])
    expect(facts.at(-1)).toMatchObject({ highWaterValueUsd: '105' })
    for (const [line, position] of await positionsOf(json)) {
      expect(await linesAfter(json, position)).toEqual(facts.slice(line).map((fact) => JSON.stringify(fact)))
    }
  })
})

async function firstOf(batches: AsyncIterable<readonly FactInput[]>): Promise<readonly FactInput[] | undefined> {
  for await (const facts of batches) return facts
  return undefined
}

/** Follows a chain, until it is stopped. */
function follow(json: ChainJson) {
  const stopping = new AbortController()
  const source = chainFeed(optionsOf(json, { once: false, signal: stopping.signal }), null)
  let readTo = -1
  source.onEnd(({ block }) => Promise.resolve(void (readTo = block.number)))
  const facts: FactInput[] = []
  const ended = (async () => {
    for await (const some of source.facts) facts.push(...some)
  })()
  return {
    ended,
    readTo: () => readTo,
    stop: async (): Promise<FactInput[]> => {
      stopping.abort()
      await ended
      return facts
    },
  }
}
