import {
  type Address,
  decodeFunctionData,
  decodeFunctionResult,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
} from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NoVaultLeft } from '../../src/chain/errors.ts'
import { chainFeed, chainName } from '../../src/chain/feed.ts'
import { connectChain } from '../../src/chain/setup.ts'
import { checkVaults } from '../../src/chain/vaults/check-vaults.ts'
import type { SetAsideVault } from '../../src/chain/vault-groups/set-aside.ts'
import type { Database } from '../../src/database/database.ts'
import { readFeedPosition } from '../../src/database/write/feed.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol, type TestToken } from './support/protocol.ts'
import { type Intercept, startProxy } from './support/proxy.ts'
import { applyChain, chainJson, type ChainJson, linesOf, optionsOf, type ReaderMessage } from './support/reading.ts'

/** PUSH0, PUSH0, REVERT. */
const reverting = '0x5f5ffd'

describeOnChain('vaults of which some do not fit', () => {
  let chain: TestChain
  let protocol: Protocol
  let alice: Address
  /** A valid vault. */
  let good: Operator
  /** A vault whose asset is not in the file. */
  let foreign: Operator
  let other: TestToken
  /** A vault whose positions have other owners, once it holds some. */
  let lending: Operator
  /** A vault whose asset's pool loses its code in the middle. */
  let unpriced: Operator
  let lost: TestToken
  /** Changes its asset to one of the file. */
  let stable: readonly object[]
  /** The pool that loses its code, and another one that keeps it. */
  let pools: readonly [Address, Address]

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[, , alice] = chain.accounts as [Address, Address, Address]
    other = await deployToken('OTHER')
    stable = [{ address: other.address, symbol: 'OTHER', price: 'stable' }]
    lost = await deployToken('LOST')
    pools = [await poolOf(lost, 500), await poolOf(lost, 3_000)]
    good = await openVault(chain, protocol, protocol.usdc)
    foreign = await openVault(chain, protocol, other)
    lending = await openVault(chain, protocol, protocol.usdc, artifacts.lendingVault)
    unpriced = await openVault(chain, protocol, lost)
    for (const amount of [5, 6]) {
      await chain.block(
        ...[good, lending].map((vault) => vault.deposit(alice, usdc(amount))),
        ...[foreign, unpriced].map((vault) => vault.deposit(alice, weth(amount))),
      )
      await chain.mine(6)
    }
    const borrowed = protocol.mintData(lending.address, -887_270, 887_270, [
      [protocol.usdc, usdc(3_000)],
      [protocol.weth, weth(1)],
    ])
    await chain.block({ from: chain.accounts[0] as Address, to: protocol.manager, data: borrowed })
    await chain.block(lending.callOf(alice, 'lend', 5n, alice))
    await chain.mine(6)
    await chain.request({ method: 'anvil_setCode', params: [pools[0], reverting] })
    await chain.block(...[foreign, unpriced].map((vault) => vault.deposit(alice, weth(7))))
    await chain.mine(6)
    await chain.block(good.deposit(alice, usdc(8)), lending.deposit(alice, usdc(8)))
    await chain.mine(12)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  async function deployToken(symbol: string): Promise<TestToken> {
    const [deployer] = chain.accounts as [Address]
    const token = { address: await chain.deploy(deployer, artifacts.creationOf(artifacts.token, symbol, 18)), symbol }
    const whole = { ...token, decimals: 18 }
    await chain.block(protocol.mint(deployer, whole, 10n ** 30n), protocol.approve(deployer, whole, protocol.manager))
    return whole
  }
  const poolOf = (token: TestToken, tier: number): Promise<Address> =>
    protocol.createPool([token, weth(1)], [protocol.usdc, usdc(tier)], tier)

  const fileOf = (vaults: readonly Operator[], pool = pools[0], more: readonly object[] = []): ChainJson => {
    const places = vaults.map(({ address, firstBlock }) => ({ address, firstBlock }))
    const json = chainJson(chain.url, protocol, places)
    const tokens = json['tokens'] as object[]
    return { ...json, tokens: [...tokens, { address: lost.address, symbol: 'LOST', price: [pool] }, ...more] }
  }

  async function read(
    json: ChainJson,
  ): Promise<{ lines: string[]; messages: ReaderMessage[]; aside: readonly SetAsideVault[] }> {
    const [lines, messages]: [string[], ReaderMessage[]] = [[], []]
    let aside: readonly SetAsideVault[] = []
    const onSetAside = (vaults: readonly SetAsideVault[]): void => void (aside = vaults)
    for await (const facts of chainFeed({ ...optionsOf(json, { messages }), onSetAside }, null).facts) {
      lines.push(...facts.map((fact) => JSON.stringify(fact)))
    }
    return { lines, messages, aside }
  }

  const without = (lines: readonly string[], ...vaults: readonly Operator[]): string[] =>
    lines.filter((line) => vaults.every(({ address }) => !line.includes(`"vault":"${address}"`)))

  /** Returns the rows of a database, without the prices of marks. */
  async function rowsOf(database: Database) {
    return JSON.parse(
      JSON.stringify(await dumpReadModel(database)).replaceAll(/digest\\": \\"[^"]*"/g, 'digest'),
    ) as object
  }

  const ledgerOf = (database: Database) =>
    database.prisma.ledgerRow.findMany({ select: { vault: { select: { address: true } }, txHash: true, type: true } })
  const positionIn = (database: Database, json: ChainJson) =>
    readFeedPosition(database.prisma, chainName(optionsOf(json).config))

  test('are set aside with their reasons, and the others read as without them', async () => {
    const json = fileOf([foreign, good, lending, unpriced])
    const { lines, messages, aside } = await read(json)
    expect(without(lines, lending, unpriced)).toEqual(await linesOf(fileOf([good])))
    const { firstBlock } = foreign
    expect(aside.map(({ address, reason }) => [address, reason.replace(/at block \d+/, 'at block …')])).toEqual([
      [foreign.address, `${foreign.address} has the asset ${other.address}, none of the tokens, at block …`],
      [lending.address, `${lending.address} holds position 5 for ${alice}, as a lending vault does, at block …`],
      [unpriced.address, expect.stringMatching(/^LOST has no price at block …: /)],
    ])
    expect(aside[0]?.block).toBe(firstBlock)
    const errors = messages.filter(({ level }) => level === 'error').map(({ message }) => message)
    expect(errors).toEqual(aside.map(({ reason }) => `A vault is set aside: ${reason}`))
    // Their facts of earlier seconds stay.
    expect(lines.filter((line) => line.includes(unpriced.address) && line.includes('"deposit"'))).toHaveLength(2)
  })

  test('are checked before anything is read', async () => {
    const json = fileOf([foreign, good, lending, unpriced])
    const late = { ...(json['vaults'] as object[])[1], address: alice, firstBlock: 10 ** 9 }
    const connection = await connectChain(
      optionsOf({ ...json, vaults: [...(json['vaults'] as object[]), late] }),
      false,
    )
    const reports = await checkVaults(connection)
    const found = reports.map(({ adapter, read, missing }) => ({ adapter, read: Object.fromEntries(read), missing }))
    const fits = 'ERC-4626, NFTs of Uniswap v3 or PancakeSwap v3'
    expect(found).toEqual([
      {
        adapter: fits,
        read: expect.objectContaining({ owner: foreign.owner, asset: other.address }) as object,
        missing: [expect.stringContaining(', none of the tokens, at')],
      },
      {
        adapter: fits,
        read: {
          owner: good.owner,
          asset: 'USDC',
          value: '19 USD',
          price: '1 USD for one USDC',
          positions: '0',
          suspended: 'no',
          fees: 'none that can be read',
          'high-water mark': 'the greatest gain',
        },
        missing: [],
      },
      {
        adapter: fits,
        read: expect.anything() as object,
        missing: [expect.stringContaining('as a lending vault does')],
      },
      { adapter: fits, read: expect.anything() as object, missing: [expect.stringContaining('LOST has no price at')] },
      {
        adapter: null,
        read: {},
        missing: [expect.stringMatching(/^firstBlock is 1000000000, after the newest block, /)],
      },
    ])
  })

  test('end the reader where none is left', async () => {
    await expect(linesOf(fileOf([foreign, lending]))).rejects.toThrow(NoVaultLeft)
  })

  test('leave a feed that follows the chain running where none is left', async () => {
    const stopping = new AbortController()
    const messages: ReaderMessage[] = []
    let ends = 0
    const feed = chainFeed(optionsOf(fileOf([foreign]), { once: false, signal: stopping.signal, messages }), null)
    feed.onEnd(({ block }) => {
      expect(block.number).toBeGreaterThan(foreign.firstBlock)
      if (++ends === 3) stopping.abort()
      return Promise.resolve()
    })
    for await (const facts of feed.facts) expect(facts).toEqual([expect.objectContaining({ kind: 'strategy' })])
    expect(messages.map(({ message }) => message)).toContain(
      'None of the vaults can be read: mend the file and start again',
    )
  })

  test('are set aside alone where a pool of their price never responds', async () => {
    const nobody: Address = `0x${'7'.repeat(40)}`
    const json = fileOf([good, unpriced], nobody)
    const { lines, messages, aside } = await read(json)
    expect(aside.map(({ address }) => address)).toEqual([unpriced.address])
    expect(without(lines, unpriced)).toEqual(await linesOf(fileOf([good], nobody)))
    expect(messages.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
      `A token has no price: tokens[3].price names ${nobody}, which is no pool. Vaults that acquire it are set aside until it has one`,
    ])
  })

  test('are read from their position once they are corrected in the file, and the others continue', async () => {
    const database = await emptyDatabase()
    await applyChain(database, fileOf([good, foreign, unpriced]))
    const mended = fileOf([good, foreign, unpriced], pools[1], stable)
    const messages: ReaderMessage[] = []
    const { applied, rejected } = await applyChain(database, mended, messages)
    expect({ ...applied, mark: 0, rejected }).toEqual({ vault: 1, event: 4, mark: 0, rejected: {} })
    expect(messages.filter(({ level }) => level === 'error')).toEqual([])
    expect((await applyChain(database, mended)).applied).toEqual({})
    const ledger = await ledgerOf(database)
    const late = await emptyDatabase()
    await applyChain(late, fileOf([good, foreign], pools[1], stable))
    expect(ledger).toEqual(expect.arrayContaining(await ledgerOf(late)))
    expect(ledger).toHaveLength(9)
  })

  test('are read on where the fault was one of a node, from their stored position', async () => {
    const head = await chain.head()
    const hashes = new Map<unknown, number>()
    for (let number = good.firstBlock; number <= head; number++) {
      const { hash } = await chain.client.getBlock({ blockNumber: BigInt(number) })
      hashes.set(hash, number)
    }
    const json = fileOf([good, foreign], pools[0], stable)
    const database = await emptyDatabase()
    await applyChain(database, json)
    const right = await rowsOf(database)

    await emptyDatabase()
    const isLiedAbout = (hash: unknown): boolean => (hashes.get(hash) ?? head) >= head - 14
    const lying = await startProxy(chain.url, lyingAt(isLiedAbout, foreign.address))
    const messages: ReaderMessage[] = []
    await applyChain(database, { ...json, rpc: [{ url: lying.url, requestsPerSecond: 10_000 }] }, messages)
    await lying.close()
    expect(messages.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      expect.stringMatching(
        new RegExp(`^A vault is set aside: ${foreign.address} doesn't answer asset\\(\\) at block`),
      ),
    ])
    expect((await positionIn(database, json))?.fingerprint).toContain(foreign.address)
    const { rejected } = await applyChain(database, json)
    expect(rejected).toEqual({})
    expect(await rowsOf(database)).toEqual(right)
    await chain.block(good.deposit(alice, usdc(9)))
    await chain.mine(4)
    await applyChain(database, json)
    expect((await positionIn(database, json))?.fingerprint).not.toContain(foreign.address)
  })
})

/** Returns a node that reverts a vault's asset() at some blocks. */
function lyingAt(isLiedAbout: (hash: unknown) => boolean, vault: Address): Intercept {
  return async (request, pass) => {
    const answer = await pass()
    const [call, at] = request.params as [{ to: Hex; data: Hex } | undefined, { blockHash?: unknown } | undefined]
    if (request.method !== 'eth_call' || !isLiedAbout(at?.blockHash) || !('result' in answer)) return answer
    // A call that fails within a multicall is repeated alone.
    if (call?.to === vault) return call.data === asset ? { error: { code: 3, message: 'execution reverted' } } : answer
    const isAggregated = call?.data.startsWith(aggregate3) === true
    return isAggregated ? { result: withoutAsset(call.data, answer.result as Hex, vault) } : answer
  }
}

const asset = '0x38d52e0f'
const aggregate3 = '0x82ad56cb'

function withoutAsset(data: Hex, result: Hex, vault: Address): Hex {
  const { args } = decodeFunctionData({ abi: multicall3Abi, data })
  const calls = args[0] as readonly { target: Address; callData: Hex }[]
  const values = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: result })
  return encodeFunctionResult({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    result: values.map((value, index) =>
      calls[index]?.target === vault && calls[index].callData === asset
        ? { success: false, returnData: '0x' as const }
        : value,
    ),
  })
}
