import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { finalBlock } from '../../src/chain/rpc/finality.ts'
import { compareLogNumbers } from '../../src/chain/rpc/newest/log-numbers.ts'
import { connectChain } from '../../src/chain/setup.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { chainJson, optionsOf, type ReaderMessage } from './support/reading.ts'

interface NumberedLog {
  readonly transactionHash: string
  readonly logIndex: string
}

describeOnChain('a reader of two nodes', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let perTransaction: Awaited<ReturnType<typeof startProxy>>

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc)
    await chain.block(vault.deposit(alice, usdc(20)), vault.deposit(bob, usdc(30)))
    await chain.mine(2)
    perTransaction = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getLogs' || !('result' in answer)) return answer
      const next = new Map<string, number>()
      const result = (answer.result as NumberedLog[]).map((log) => {
        const number = next.get(log.transactionHash) ?? 0
        next.set(log.transactionHash, number + 1)
        return { ...log, logIndex: `0x${number.toString(16)}` }
      })
      return { result }
    })
  }, patienceMilliseconds)
  afterAll(async () => {
    await perTransaction.close()
    await chain.stop()
  })

  const jsonOf = (...urls: string[]) =>
    chainJson(urls, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])

  test('reports that they number the logs of a block differently', async () => {
    const messages: ReaderMessage[] = []
    await connectChain(optionsOf(jsonOf(chain.url, perTransaction.url), { messages }), false)
    const nodes = [chain.url, perTransaction.url].map((url) => new URL(url).host)
    await vi.waitFor(() => expect(messages).toHaveLength(1))
    expect(messages).toEqual([
      {
        level: 'error',
        message:
          'Nodes number the logs of a block differently, so that events may be counted twice: name only nodes that agree',
        facts: { nodes, block: (await chain.head()) - 2 },
      },
    ])
  })

  test('reports nothing of nodes that number them alike', async () => {
    const { rpc, ...connection } = await connectChain(optionsOf(jsonOf(chain.url, `${chain.url}/again`)), false)
    const report = vi.fn()
    await compareLogNumbers(rpc, await finalBlock(rpc, connection.config.finality), report)
    expect(report).not.toHaveBeenCalled()
  })
})
