import { type Address, encodeFunctionData, padHex } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chainFeed } from '../../src/chain/feed.ts'
import { leftNoTraces } from '../../src/chain/positions/traces.ts'
import type { ChainPosition } from '../../src/chain/chain-position.ts'
import type { SetAsideVault } from '../../src/chain/vault-groups/set-aside.ts'
import { connectChain } from '../../src/chain/setup.ts'
import { poolPositionId } from '../../src/chain/venues/pool-positions.ts'
import { callOf, describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson, type ChainJson, linesOf, optionsOf, type TestVault } from './support/reading.ts'
import { creationOfCode, loggingMint, reverting, returningItselfExcept } from './support/runtime-code.ts'

/** A vault as a file names it. */
type NamedVault = TestVault & { readonly pools?: readonly Address[] }

describeOnChain('vaults that need a contract which does not answer', () => {
  let chain: TestChain
  let protocol: Protocol
  let deployer: Address
  let alice: Address
  /** A valid vault. */
  let good: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[deployer, , alice] = chain.accounts as [Address, Address, Address]
    good = await openVault(chain, protocol, protocol.usdc)
    await chain.block(good.deposit(alice, usdc(100)))
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (...vaults: readonly NamedVault[]): ChainJson =>
    chainJson(
      chain.url,
      protocol,
      vaults.map(({ address, firstBlock, pools }) => ({ address, firstBlock, ...(pools && { pools }) })),
    )

  async function read(json: ChainJson, from: ChainPosition | null = null) {
    let aside: readonly SetAsideVault[] = []
    const onSetAside = (vaults: readonly SetAsideVault[]): void => void (aside = vaults)
    const { facts, positionAfter } = chainFeed({ ...optionsOf(json), onSetAside }, from)
    const lines: string[] = []
    const positions: ChainPosition[] = []
    for await (const some of facts) {
      lines.push(...some.map((fact) => JSON.stringify(fact)))
      positions.push(positionAfter({ number: (from?.line ?? 0) + lines.length }))
    }
    return { lines, positions, aside }
  }

  /** Reads the valid vault with another one, which must not change its facts, from the beginning and from a later block. */
  async function expectSetAside(odd: NamedVault, beforeSilence: number, silent: Address): Promise<void> {
    await chain.block(good.deposit(alice, usdc(5)))
    await chain.mine(14)
    const alone = await linesOf(jsonOf(good))
    const { lines, aside } = await read(jsonOf(good, odd))
    const ofOthers = (some: readonly string[]): string[] => some.filter((line) => !line.includes(odd.address))
    expect(ofOthers(lines)).toEqual(alone)
    expect(aside.map(({ address }) => address)).toEqual([odd.address])
    const { positions } = await read(jsonOf(good))
    const late = positions.find(({ block }) => block > beforeSilence)
    expect(late).toBeDefined()
    const rest = await read(jsonOf(good, odd), late)
    expect(ofOthers(rest.lines)).toEqual(alone.slice(late?.line))
    expect(rest.aside.map(({ address }) => address)).toEqual([odd.address])
    for (const { reason } of [...aside, ...rest.aside]) {
      expect(reason).toMatch(new RegExp(`^${silent} doesn't answer \\w+\\(\\) at block \\d+$`))
    }
  }

  test('are set aside alone where their pool no longer responds to calls for their positions', async () => {
    const pool = await protocol.createPool([protocol.weth, weth(1)], [protocol.usdc, usdc(2_000)], 3_000)
    const { address, firstBlock, run } = await openVault(chain, protocol, protocol.usdc)
    const donor = await chain.deploy(deployer, artifacts.creationOf(artifacts.donor))
    const [lower, upper] = [-887_220, 887_220]
    const added = [pool, address, lower, upper, 10n ** 9n]
    const burn = { abi: artifacts.pool.abi, functionName: 'burn', args: [lower, upper, 1n] }
    await chain.block(
      ...[protocol.usdc, protocol.weth].map((token) => protocol.mint(donor, token, 10n ** 24n)),
      callOf(deployer, donor, artifacts.donor.abi, 'add', added),
      run([pool, encodeFunctionData(burn)]),
    )
    const odd = { address, firstBlock, pools: [pool] }
    await chain.mine(6)
    await chain.request({ method: 'anvil_setCode', params: [pool, reverting] })
    const silent = await chain.head()
    await chain.mine(3)
    await expectSetAside(odd, silent, pool)
    await chain.mine(90)
    await expectSetAside(odd, silent, pool)
  })

  test('are set aside alone where a pool logs a position of theirs and reverts the call for it', async () => {
    const pool = await chain.deploy(deployer, creationOfCode(loggingMint()))
    const { address, firstBlock } = await openVault(chain, protocol, protocol.usdc)
    await chain.mine(12)
    const silent = await chain.head()
    await chain.block({ from: deployer, to: pool, data: padHex(address, { size: 32 }) })
    await expectSetAside({ address, firstBlock, pools: [pool] }, silent, pool)
  })

  test('are set aside alone where their strategy reverts the call for its pool', async () => {
    const address = await chain.deploy(deployer, creationOfCode(returningItselfExcept('asset()', 'pool()')))
    const firstBlock = await chain.head()
    await chain.mine(12)
    await expectSetAside({ address, firstBlock }, firstBlock, address)
  })

  test('do not complete a block that may have logs of theirs', async () => {
    const { rpc, multicall, venues } = await connectChain(optionsOf(jsonOf(good)), false)
    const header = await rpc.ask((node) => node.block('latest'))
    const id = poolPositionId({ pool: protocol.multicall, owner: good.address, ticks: { lower: 0, upper: 10 } })
    const traced = { vaults: [], emitters: [], accounts: [], tokens: [], positions: { owners: [], ids: [id] } }
    expect(await leftNoTraces(header, traced, { rpc, multicall, venues })).toBe(false)
  })
})
