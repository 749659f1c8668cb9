import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainFeed } from '../../src/chain/feed.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import * as artifacts from './support/artifacts.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, factsOf, optionsOf, type Said } from './support/reading.ts'

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

    const said: Said[] = []
    const stopping = new AbortController()
    const source = chainFeed(optionsOf(json, { once: false, signal: stopping.signal, said }), null)
    const waits = new Promise<number>((resolve) => {
      source.onEnd(({ block }) => Promise.resolve(resolve(block.number)))
    })
    const reading = firstOf(source.facts)
    const final = (await chain.head()) - finality
    const told = await Promise.race([waits, reading])
    const creation = { from: deployer, data, gas: '0x895440' }
    await chain.request({ method: 'anvil_reorg', params: [3, [[creation, 1]]] })
    await chain.mine(finality + 1)
    expect(await reading).toMatchObject([{ kind: 'strategy' }, { kind: 'vault', vault: address }, { kind: 'mark' }])
    stopping.abort()
    expect(told).toBe(final)
    expect(said).toEqual([
      { level: 'info', message: 'The first vault begins after the newest final block', facts: { firstBlock } },
    ])
  })
})

async function firstOf(batches: AsyncIterable<readonly FactInput[]>): Promise<readonly FactInput[] | undefined> {
  for await (const facts of batches) return facts
  return undefined
}
