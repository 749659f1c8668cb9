import { type Address, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { chainJson, linesOf, type ReaderMessage } from './support/reading.ts'

const deposit = toEventSelector('Deposit(address,address,uint256,uint256)')
const increase = toEventSelector('IncreaseLiquidity(uint256,uint128,uint256,uint256)')

interface Log {
  readonly topics: readonly string[]
  readonly data: string
}

describeOnChain('a node that garbles a log in one answer', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    const amounts = [
      [protocol.usdc, usdc(3)],
      [protocol.weth, 10n ** 15n],
    ] as const
    const minted = vault.run([protocol.manager, protocol.mintData(vault.address, -887_270, 887_270, amounts)])
    await chain.block(
      vault.deposit(chain.accounts[2] as Address, usdc(20)),
      protocol.mint(vault.address, protocol.weth, 10n ** 18n),
      minted,
    )
    await chain.mine(4)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (url: string) => chainJson(url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])

  test.each([
    ['of a vault, with half a byte', deposit, (data: string) => data.slice(0, -1)],
    ['of a vault, without data', deposit, () => '0x'],
    ['of a position, with less data', increase, (data: string) => data.slice(0, -64)],
  ])('%s does not set the vault aside, and does not stop the reader', async (_name, topic, garble) => {
    let garbled = 0
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getLogs' || !('result' in answer) || garbled > 0) return answer
      const result = (answer.result as Log[]).map((log) => {
        if (log.topics[0] !== topic) return log
        garbled++
        return { ...log, data: garble(log.data) }
      })
      return { result }
    })
    const messages: ReaderMessage[] = []
    const lines = await linesOf(jsonOf(proxy.url), messages)
    await proxy.close()
    expect(garbled).toBe(1)
    expect(messages.filter(({ level }) => level === 'error')).toEqual([])
    expect(lines).toEqual(await linesOf(jsonOf(chain.url)))
  })
})
