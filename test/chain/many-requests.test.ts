import { type Address, encodeFunctionData, type Hex, numberToHex, padHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { chainFeed } from '../../src/chain/feed.ts'
import { Contradiction } from '../../src/chain/errors.ts'
import type { ChainLog } from '../../src/chain/rpc/block.ts'
import { BlockState, Multicall } from '../../src/chain/rpc/multicall.ts'
import type { Node } from '../../src/chain/rpc/node.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { DepositRequests } from '../../src/chain/vaults/deposit-requests.ts'
import { createErc7540, requestTopics } from '../../src/chain/vaults/erc7540.ts'
import type { FactInput } from '../../src/feed/fact/fact.ts'
import { usdc } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type RpcAnswer, startProxy } from './support/proxy.ts'
import {
  chainJson,
  configOf,
  factsOf,
  linesAfter,
  linesOf,
  type MarkFact,
  optionsOf,
  positionsOf,
} from './support/reading.ts'

describeOnChain('requests to deposit', () => {
  let chain: TestChain
  let protocol: Protocol
  let [alice, bob] = [] as unknown as [Address, Address]
  let controllers: readonly Address[]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[, , alice, bob, ...controllers] = chain.accounts as [Address, Address, Address, Address, ...Address[]]
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  /** Reads the marks of a vault, and counts the calls of some functions for them. */
  async function marksOf(
    { address, firstBlock }: Operator,
    calls: readonly Hex[],
    tokens: readonly object[] = [],
    change: (answer: RpcAnswer) => RpcAnswer = (answer) => answer,
  ) {
    const counts = calls.map(() => 0)
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const { data = '' } = (request.params[0] ?? {}) as { data?: string }
      calls.forEach((call, index) => {
        if (data.includes(call.slice(2))) counts[index] = (counts[index] ?? 0) + 1
      })
      return request.method === 'eth_getLogs' ? change(await pass()) : pass()
    })
    const json = chainJson(proxy.url, protocol, [{ address, firstBlock }], { markEveryBlocks: 2 })
    const facts = await factsOf({ ...json, tokens: [...(json['tokens'] as object[]), ...tokens] })
    await proxy.close()
    return { marks: facts.flatMap((fact): MarkFact[] => (fact.kind === 'mark' ? [fact] : [])), counts }
  }

  test('to a vault with a silo are no debt of the vault, for any other transfer to it in their block', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, true)
    await chain.block(vault.deposit(alice, usdc(20)))
    const pay = callOf(bob, protocol.usdc.address, artifacts.token.abi, 'transfer', [vault.address, usdc(5)])
    await chain.block(pay, vault.callOf(alice, 'requestDeposit', usdc(5), alice, alice))
    await chain.mine(8)
    const { marks } = await marksOf(vault, [])
    expect(marks.at(-1)?.valueUsd).toBe('25')
  })

  test.each([
    ['before', false],
    ['after', true],
  ] as const)(
    'in a token that takes a part of each transfer are a debt of the vault that keeps them (it logs the part %s the rest)',
    async (_name, isAfter) => {
      const [deployer] = chain.accounts as [Address]
      const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.feeToken, 'FEE', 6))
      const token = { address, symbol: 'FEE', decimals: 6 }
      const vault = await openVault(chain, protocol, token, artifacts.asyncVault, false)
      await chain.block(vault.deposit(alice, usdc(20)))
      await chain.block(callOf(deployer, address, artifacts.feeToken.abi, 'setFee', [100n]))
      await chain.block(vault.callOf(alice, 'requestDeposit', usdc(5), alice, alice))
      // A request of 0 changes nothing.
      await chain.block(vault.callOf(bob, 'requestDeposit', 0n, bob, bob))
      await chain.mine(8)
      const tokens = [{ address, symbol: 'FEE', price: 'stable' }]
      const { marks } = await marksOf(vault, [], tokens, isAfter ? withPairsReversed(address) : undefined)
      expect(marks.at(-1)?.valueUsd).toBe('19.95')
    },
  )

  /** Reads the debts of a vault from logs of requests. */
  async function debtsOf(
    { address, firstBlock }: Operator,
    logsOf: (logs: readonly ChainLog[]) => readonly ChainLog[],
  ) {
    const rpc = connectRpc(configOf(chainJson(chain.url, protocol, [{ address, firstBlock }])), {
      report: () => undefined,
      signal: AbortSignal.timeout(20_000),
      retry: { firstMilliseconds: 1, maxMilliseconds: 2 },
      givesUp: false,
      onLastingFault: () => undefined,
    })
    const [node] = rpc.nodes as [Node]
    const block = await node.block('latest')
    const adapter = createErc7540()
    const requests = new DepositRequests()
    for (const log of logsOf(await node.logsIn({ address, topics: [requestTopics] }, firstBlock, block.number))) {
      const change = adapter.decodeLog(log)
      if (change?.kind === 'requested') requests.add(change.request)
    }
    const state = new BlockState(rpc, new Multicall(protocol.multicall), block)
    const { debts } = await adapter.readStatement(state, address, requests.snapshot())
    return debts.map(({ units }) => units)
  }

  test('are a debt of the vault that keeps them, although the first answer lacks their transfer', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    await chain.block(vault.deposit(alice, usdc(20)))
    await chain.block(vault.callOf(alice, 'requestDeposit', usdc(5), alice, alice))
    await chain.mine(8)
    let answers = 0
    const proxy = await startProxy(chain.url, ({ method, params, ...rest }, pass) => {
      const { address, blockHash } = (params[0] ?? {}) as { address?: unknown; blockHash?: unknown }
      const isOfTransfers = method === 'eth_getLogs' && blockHash !== undefined && address === protocol.usdc.address
      return isOfTransfers && answers++ === 0 ? Promise.resolve({ result: [] }) : pass({ method, params, ...rest })
    })
    const { address, firstBlock } = vault
    const facts = await factsOf(chainJson(proxy.url, protocol, [{ address, firstBlock }], { markEveryBlocks: 2 }))
    await proxy.close()
    expect(answers).toBe(2)
    const marks = facts.flatMap((fact) => (fact.kind === 'mark' ? [fact.valueUsd] : []))
    expect(marks.at(-1)).toBe('20')
  })

  test('of a block of a fork cause the chain to be read again', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    await chain.block(vault.callOf(alice, 'requestDeposit', usdc(5), alice, alice))
    expect(await debtsOf(vault, (logs) => logs)).toEqual([usdc(5)])
    const blockHash = `0x${'7'.repeat(64)}` as const
    const ofFork = debtsOf(vault, (logs) => logs.map((log) => ({ ...log, blockHash })))
    await expect(ofFork).rejects.toThrow(Contradiction)
  })

  test.each([
    ['a little before', 1n, 'before', false],
    ['as much before', usdc(5), 'before', true],
    ['a little after', 1n, 'after', false],
    ['as much after', usdc(5), 'after', true],
  ] as const)(
    'whose owner transfers %s the assets to another account do not decide who keeps the assets',
    async (_name, units, place, hasOther) => {
      const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
      const stranger = await openVault(chain, protocol, protocol.usdc)
      const { abi } = artifacts.token
      const token = protocol.usdc.address
      const pay = [token, callOf(bob, token, abi, 'transfer', [bob, units]).data] as const
      const made = [
        [token, protocol.approve(stranger.address, protocol.usdc, vault.address).data],
        [vault.address, vault.callOf(bob, 'requestDeposit', usdc(5), stranger.address, stranger.address).data],
      ] as const
      await chain.block(stranger.deposit(alice, usdc(50)))
      await chain.block(stranger.run(...(place === 'before' ? [pay, ...made] : [...made, pay])))
      if (hasOther) await chain.block(vault.callOf(bob, 'requestDeposit', usdc(7), bob, bob))
      const debts = [hasOther ? usdc(12) : usdc(5)]
      expect(await debtsOf(vault, (logs) => logs)).toEqual(debts)
      // As from a vault that logs a request before it transfers the assets.
      const early = (logs: readonly ChainLog[]) => logs.map((log) => ({ ...log, logIndex: log.logIndex - 1.5 }))
      expect(await debtsOf(vault, early)).toEqual(debts)
    },
  )

  test('that are settled are not read again, until there is another one', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    const request = (controller: Address, amount: number) =>
      vault.callOf(alice, 'requestDeposit', usdc(amount), controller, alice)
    await chain.block(...controllers.map((one) => request(one, 3)), request(alice, 5))
    await chain.mine(4)
    await chain.block(...controllers.map((one) => vault.callOf(bob, 'fulfil', one)))
    await chain.block(...controllers.map((one) => vault.callOf(one, 'claimDeposit', usdc(3), one)))
    await chain.mine(120)
    const [again] = controllers as [Address]
    await chain.block(request(again, 7))
    await chain.mine(8)
    const calls = [...controllers, alice].map((one) =>
      encodeFunctionData({ abi: artifacts.asyncVault.abi, functionName: 'pendingDepositRequest', args: [0n, one] }),
    )
    const { marks, counts } = await marksOf(vault, calls)
    expect(marks.length).toBeGreaterThan(60)
    expect(marks.at(-1)?.valueUsd).toBe(String(3 * controllers.length))
    // An open one is read at each mark, the others until they are known to be settled, several in one request.
    expect(counts.at(-1)).toBeGreaterThan(60)
    expect(counts.slice(0, -1).filter((times) => times > 25)).toEqual([])
  })

  test('are read together for all vaults where reading resumes', async () => {
    const open = () => openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    const vaults = [await open(), await open(), await open()]
    await chain.block(...vaults.map((vault, at) => vault.callOf(alice, 'requestDeposit', usdc(at + 1), alice, alice)))
    await chain.mine(8)
    const of = (url: string) => {
      const some = vaults.map(({ address, firstBlock }) => ({ address, firstBlock }))
      return optionsOf(chainJson(url, protocol, some, { markEveryBlocks: 2 }))
    }
    const { facts, positionAfter } = chainFeed(of(chain.url), null)
    const fromStart: FactInput[] = []
    for await (const some of facts) fromStart.push(...some)
    const position = positionAfter({ number: fromStart.length })
    const requested: string[][] = []
    const proxy = await startProxy(chain.url, (request, pass) => {
      const [{ address = [], topics: [topics = []] = [] } = {}] = request.params as {
        address?: Address
        topics?: Hex[][]
      }[]
      if (request.method === 'eth_getLogs' && [topics].flat().join() === requestTopics.join())
        requested.push([address].flat())
      return pass()
    })
    const again: FactInput[] = []
    for await (const some of chainFeed(of(proxy.url), position).facts) again.push(...some)
    await proxy.close()
    expect(position.line).toBeGreaterThan(0)
    expect(again).toEqual(fromStart.slice(position.line))
    expect(requested.length).toBeGreaterThan(0)
    const addresses = vaults.map(({ address }) => address)
    expect(requested).toEqual(requested.map(() => addresses))
  })
  test('whose logs nodes truncate without an error remain a debt of the vault, also after a restart', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    await chain.block(vault.deposit(alice, usdc(20)))
    for (let round = 0; round < 12; round++) {
      const controllerOf = (at: number): Hex => padHex(numberToHex(0x1000 + 10 * round + at), { size: 20 })
      const request = (at: number) => vault.callOf(alice, 'requestDeposit', usdc(1), controllerOf(at), alice)
      await chain.block(...Array.from({ length: 10 }, (_, at) => request(at)))
    }
    await chain.mine(70)
    const proxy = await startProxy(chain.url, async ({ method, params: [filter] }, pass) => {
      const answer = await pass()
      const isRange = method === 'eth_getLogs' && 'fromBlock' in (filter as object)
      return isRange && 'result' in answer ? { result: (answer.result as unknown[]).slice(0, 100) } : answer
    })
    const jsonOf = (url: string) =>
      chainJson(url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }], { markEveryBlocks: 4 })
    const lines = await linesOf(jsonOf(chain.url))
    expect(lines.at(-1)).toContain('"valueUsd":"20"')
    expect(await linesOf(jsonOf(proxy.url))).toEqual(lines)
    const [line, position] = [...(await positionsOf(jsonOf(chain.url)))].at(-3) ?? []
    expect(position && (await linesAfter(jsonOf(proxy.url), position))).toEqual(lines.slice(line))
    await proxy.close()
  })
})

/** Swaps the contents of successive transfers of a token, as from one that logs them in reverse order. */
function withPairsReversed(token: Address) {
  return (answer: RpcAnswer): RpcAnswer => {
    const logs = 'result' in answer ? (answer.result as { address: Hex; transactionHash: Hex; logIndex: Hex }[]) : []
    const result = logs.map((log) => {
      if (log.address !== token.toLowerCase()) return log
      const [first, second] = logs.filter(
        ({ address, transactionHash }) => address === log.address && transactionHash === log.transactionHash,
      )
      if (first === undefined || second === undefined) return log
      return { ...(log === first ? second : first), logIndex: log.logIndex }
    })
    return { ...answer, result }
  }
}
