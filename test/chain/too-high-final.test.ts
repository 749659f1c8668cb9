import { type Address, numberToHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { finalBlock } from '../../src/chain/rpc/finality.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { chainJson, type ChainJson, configOf, linesOf, type ReaderMessage, shortFaultTimes } from './support/reading.ts'

/** Blocks that the wrong final block is ahead of the newest one. */
const ahead = 5_000

/** A field that makes that the header is not verified by its hash. */
const unknownField = { l1BlockNumber: '0x1' }

describeOnChain('a node that names a block as final which is not there', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let right: string[]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    vault = await openVault(chain, protocol, protocol.usdc)
    for (let times = 0; times < 4; times++) {
      await chain.block(vault.deposit(alice, usdc(5)))
      await chain.mine(40)
    }
    right = await linesOf(jsonOf(chain.url))
    expect(right.length).toBeGreaterThan(15)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (...urls: string[]): ChainJson =>
    chainJson(
      urls,
      protocol,
      [vault].map(({ address, firstBlock }) => ({ address, firstBlock })),
      {
        finality: 'finalized',
      },
    )

  /**
   * Names a wrong block as final at one request for it.
   * @param nth which of these requests
   * @param repeats number of later requests that are answered with the same block
   */
  function wrongAt(nth: number, repeats: number): Intercept {
    let requests = 0
    let repeated = 0
    return async (request, pass) => {
      if (request.method !== 'eth_getBlockByNumber') return pass()
      const number = numberToHex((await chain.head()) + ahead)
      const isWrong = request.params[0] === 'finalized' ? ++requests === nth : request.params[0] === number
      if (!isWrong || (request.params[0] === number && repeated++ >= repeats)) return pass()
      const answer = await pass({ ...request, params: ['latest', false] })
      const hash = `0x${'9'.repeat(64)}`
      return 'result' in answer ? { result: { ...(answer.result as object), number, hash } } : answer
    }
  }

  test.each([
    ['at the start', 1, 0],
    ['where reading begins', 2, 0],
    ['and the block itself, where reading begins', 2, 1],
  ])(
    '%s is asked again',
    async (_name, nth, repeats) => {
      const proxy = await startProxy(chain.url, wrongAt(nth, repeats))
      try {
        expect(await linesOf(jsonOf(proxy.url))).toEqual(right)
      } finally {
        await proxy.close()
      }
    },
    30_000,
  )

  /**
   * Names a wrong block as final, which it tells, but not the blocks before it; the right one at first, and after it was
   * asked for one of these.
   */
  function alwaysWrong(): Intercept {
    let isAsked = true
    return async (request, pass) => {
      const [at] = request.params
      if (request.method !== 'eth_getBlockByNumber') return pass()
      const [head, wrong] = [await chain.head(), numberToHex((await chain.head()) + ahead)]
      const isMissing = Number(at) > head && at !== wrong
      const isRight = at === 'finalized' && isAsked
      if (isMissing || at === 'finalized') isAsked = isMissing
      if (isMissing) return { result: null }
      if (isRight || (at !== 'finalized' && at !== wrong)) return pass()
      const answer = await pass({ ...request, params: ['latest', false] })
      return 'result' in answer
        ? { result: { ...(answer.result as object), number: wrong, hash: `0x${'9'.repeat(64)}`, ...unknownField } }
        : answer
    }
  }

  test('again and again ends a reader that does not follow the chain, and is told', async () => {
    const proxy = await startProxy(chain.url, alwaysWrong())
    const messages: ReaderMessage[] = []
    const final = (await chain.head()) + ahead
    const node = new URL(proxy.url).host
    try {
      await expect(linesOf(jsonOf(proxy.url), messages, shortFaultTimes)).rejects.toThrow(
        new RegExp(`the node ${node} names block ${final} as final, and block \\d+ isn't there$`),
      )
    } finally {
      await proxy.close()
    }
    const warnings = messages.filter(({ message }) => message === 'A block is named as final that is not there')
    expect(warnings.slice(0, 4).map(({ level, facts }) => [level, facts])).toEqual(
      (['warn', 'warn', 'error', 'error'] as const).map((level, index) => {
        return [level, { node, final, missing: expect.any(Number) as number, times: index + 1 }]
      }),
    )
  })

  test('does not keep a reader from a final block that another node lacks, contradicts or cannot tell', async () => {
    const lacking: Intercept = (request, pass) => {
      if (request.params[0] === 'finalized') return pass({ ...request, params: ['0x2', false] })
      return request.method === 'eth_getBlockByNumber' ? Promise.resolve({ result: null }) : pass()
    }
    const forked: Intercept = async (request, pass) => {
      const answer = await pass()
      if (request.method !== 'eth_getBlockByNumber' || !('result' in answer)) return answer
      return { result: { ...(answer.result as object), hash: `0x${'8'.repeat(64)}` } }
    }
    for (const intercept of [lacking, forked, () => Promise.resolve('drop')] satisfies Intercept[]) {
      const proxy = await startProxy(chain.url, intercept)
      const rpc = connectRpc(configOf(jsonOf(chain.url, proxy.url)), {
        report: () => undefined,
        signal: AbortSignal.timeout(20_000),
        givesUp: false,
        onLastingFault: () => undefined,
      })
      const { hash } = await chain.client.getBlock({ blockTag: 'finalized' })
      const final = await finalBlock(rpc, 'finalized')
      await proxy.close()
      expect(final.hash).toBe(hash)
      expect(rpc.newest.number).toBe(final.number)
    }
  })
})
