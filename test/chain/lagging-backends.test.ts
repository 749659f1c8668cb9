import type { Address, Hex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, type ChainJson, linesAfter, linesOf, positionsOf } from './support/reading.ts'

/** Number of newest final blocks that one backend lacks. */
const lag = 40

describeOnChain('a URL behind which one backend lacks the newest blocks', () => {
  let chain: TestChain
  let protocol: Protocol
  /** Holds the assets of deposit requests, which are known from their logs alone. */
  let vault: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    await chain.mine(70)
    for (const account of [alice, bob]) {
      await chain.block(vault.callOf(account, 'requestDeposit', usdc(100), account, account))
      await chain.mine(12)
    }
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (url: string, finality: number): ChainJson => {
    const { address, firstBlock } = vault
    return chainJson(url, protocol, [{ address, firstBlock }], { markEveryBlocks: 4, finality })
  }

  /** Routes requests for logs to the lagging backend; of those by block hash, every second one. */
  function lagging(final: number): Intercept {
    let turn = 0
    return async (request, pass) => {
      if (request.method !== 'eth_getLogs') return pass()
      const [{ blockHash } = {}] = request.params as { blockHash?: Hex }[]
      if (blockHash !== undefined) {
        const { number } = await chain.client.getBlock({ blockHash })
        const isLacking = Number(number) > final - lag && turn++ % 2 === 0
        return isLacking ? { error: { code: -32_000, message: 'unknown block' } } : pass()
      }
      const answer = await pass()
      if (!('result' in answer)) return answer
      const logs = answer.result as { blockNumber: Hex }[]
      return { result: logs.filter(({ blockNumber }) => Number(blockNumber) <= final - lag) }
    }
  }

  test.each([2, 70])(
    'yields the same facts wherever reading resumes, with a finality of %i blocks',
    async (finality) => {
      await chain.mine(finality)
      const lines = await linesOf(jsonOf(chain.url, finality))
      const positions = await positionsOf(jsonOf(chain.url, finality))
      const proxy = await startProxy(chain.url, lagging((await chain.head()) - finality))
      const resumed = [...positions].slice(1).filter((_, index) => index % 3 === 0)
      expect(resumed.length).toBeGreaterThan(6)
      for (const [line, position] of resumed) {
        expect(await linesAfter(jsonOf(proxy.url, finality), position), `from line ${line}`).toEqual(lines.slice(line))
      }
      await proxy.close()
    },
  )
})
