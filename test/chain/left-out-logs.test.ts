import { type Address, encodeEventTopics, toEventSelector } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { chainJson, linesOf } from './support/reading.ts'

const deposit = toEventSelector('Deposit(address,address,uint256,uint256)')
const [paused] = encodeEventTopics({ abi: artifacts.vault.abi, eventName: 'Paused' })
const [owned] = encodeEventTopics({ abi: artifacts.vault.abi, eventName: 'OwnershipTransferred' })

interface Log {
  readonly address: string
  readonly topics: readonly string[]
  readonly blockNumber: `0x${string}`
  readonly logIndex: `0x${string}`
}

interface LogRequest {
  readonly blockHash?: string
  readonly address?: unknown
}

describeOnChain('a node that leaves logs out, or tells logs that are not there, beside one that does not', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  /** A vault with shares that no log explains: those of an account that is no recipient of fees. */
  let paying: Operator
  /** The block of the last deposits, which is read in a range, and by its hash where nothing follows it. */
  let last: number

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice, bob, nobody, heir] = chain.accounts as [Address, Address, Address, Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc)
    paying = await openVault(chain, protocol, protocol.usdc, artifacts.feeVault, nobody)
    for (const amount of [3, 4]) {
      await chain.block(...[vault, paying].map((each) => each.deposit(alice, usdc(amount))))
      // At the ends of the block and of the one before, the account of the new shares is not the recipient of fees.
      await chain.block(
        paying.callOf(paying.owner, 'setFeeRecipient', heir),
        paying.callOf(paying.owner, 'accrue', usdc(1)),
        paying.callOf(paying.owner, 'setFeeRecipient', nobody),
      )
      await chain.mine(3)
    }
    await chain.block(vault.deposit(bob, usdc(5)), vault.pause())
    await chain.block(vault.unpause())
    await chain.block(vault.pause(), paying.deposit(alice, usdc(1)))
    await chain.mine(3)
    await chain.block(
      vault.unpause(),
      vault.deposit(alice, usdc(6)),
      vault.callOf(vault.owner, 'transferOwnership', heir),
    )
    await chain.block(...[vault, paying].flatMap((each) => [each.deposit(alice, usdc(7)), each.deposit(bob, usdc(8))]))
    last = await chain.head()
    await chain.mine(4)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (...urls: string[]) =>
    chainJson(
      urls,
      protocol,
      [vault, paying].map(({ address, firstBlock }) => ({ address, firstBlock })),
    )

  /** Reads the chain from a node with changed logs, and from one without. */
  async function readWith(change: (logs: readonly Log[], request: LogRequest) => readonly Log[]) {
    let changed = 0
    const proxy = await startProxy(chain.url, async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getLogs' || !('result' in answer)) return answer
      const logs = answer.result as Log[]
      const result = change(logs, request.params[0] as LogRequest)
      if (result.length !== logs.length) changed++
      return { result }
    })
    try {
      return { lines: await linesOf(jsonOf(proxy.url, chain.url)), changed }
    } finally {
      await proxy.close()
    }
  }

  const isOf = (log: Log, each: Operator): boolean => log.address.toLowerCase() === each.address.toLowerCase()
  const isLast = (log: Log): boolean => Number(log.blockNumber) === last

  const cases: [string, (logs: readonly Log[], request: LogRequest) => readonly Log[]][] = [
    [
      'leaves a deposit out',
      (logs) => logs.filter((log) => !isLast(log) || !isOf(log, vault) || log.topics[0] !== deposit),
    ],
    [
      'leaves the last deposit out of a vault with shares that no log explains',
      (logs) => logs.filter((log) => !isLast(log) || !isOf(log, paying) || log.topics[0] !== deposit),
    ],
    ['leaves suspensions out', (logs) => logs.filter(({ topics }) => topics[0] !== paused)],
    ['leaves a new owner out', (logs) => logs.filter((log) => !isOf(log, vault) || log.topics[0] !== owned)],
    [
      'tells deposits twice, with other numbers',
      (logs) =>
        logs.flatMap((log) => [
          log,
          ...(log.topics[0] === deposit
            ? [{ ...log, logIndex: `0x${(Number(log.logIndex) + 64).toString(16)}` } as const]
            : []),
        ]),
    ],
  ]

  test.each(cases)('and that %s, gives the same facts in a block', async (_name, change) => {
    const right = await linesOf(jsonOf(chain.url))
    // All logs of a block are requested without a filter: these the node tells.
    const { lines, changed } = await readWith((logs, request) =>
      request.address === undefined ? logs : change(logs, request),
    )
    expect(changed).toBeGreaterThan(0)
    expect(lines).toEqual(right)
  })

  test.each(cases)('and that %s, gives the same facts in a range', async (_name, change) => {
    if ((await chain.head()) < last + 70) await chain.mine(80)
    const right = await linesOf(jsonOf(chain.url))
    const { lines, changed } = await readWith((logs, request) =>
      request.blockHash === undefined ? change(logs, request) : logs,
    )
    expect(changed).toBeGreaterThan(0)
    expect(lines).toEqual(right)
  })
})
