import { type Address, type Hex, numberToHex, padHex, toEventSelector, zeroAddress } from 'viem'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { chainFeed, chainName } from '../../src/chain/feed.ts'
import { ChainDiverged } from '../../src/chain/errors.ts'
import type { Database } from '../../src/database/database.ts'
import { inChain, readFeedPosition } from '../../src/database/write/feed.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { gatewayOn } from '../support/gateway.ts'
import {
  type Call,
  callOf,
  describeOnChain,
  patienceMilliseconds,
  startChain,
  type TestChain,
} from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { callsOf, deployPancake, deploySlipstream, pairOf } from './support/cl-venues.ts'
import { observe } from './support/observer.ts'
import { logsOf, openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { randomOf } from './support/random.ts'
import { openShareVault } from './support/share-vault.ts'
import { applyChain, chainJson, type ChainJson, optionsOf } from './support/reading.ts'
import { transferData, transferOf } from './support/strays.ts'
import { deployV4, type PoolKey, type V4, v4CallsOf } from './support/v4.ts'

/** Number of seeds of each kind of vault; CHAIN_SEEDS=20 is the full size. */
const isFullSize = process.env['CHAIN_SEEDS'] !== undefined
const seeds = Array.from({ length: Number(process.env['CHAIN_SEEDS'] ?? 2) }, (_, index) => index + 1)
const rounds = 30
/** A scenario continues until it has enough rows, a kill, and logs of the adapter under test. */
const maxRounds = 120
const finality = 4

describeOnChain('a chain that is reorganised', () => {
  let chain: TestChain
  let protocol: Protocol
  let slipstream: Awaited<ReturnType<typeof deploySlipstream>> | undefined
  let pancake: Awaited<ReturnType<typeof deployPancake>> | undefined

  let v4: (V4 & { readonly key: PoolKey }) | undefined

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
  }, patienceMilliseconds)
  afterEach(async () => {
    await Promise.all(readers.splice(0).map((reader) => reader.kill()))
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()))
  })
  afterAll(() => chain.stop())

  const others = (): Address[] => [slipstream, pancake, v4].flatMap((venue) => venue?.manager ?? [])
  const jsonOf = (vault: Place, more: ChainJson = {}): ChainJson =>
    chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }], {
      finality,
      pollSeconds: 0.01,
      ...(others().length === 0 ? {} : { otherPositionManagers: others() }),
      ...more,
    })

  /** Replaces the newest blocks by empty ones. */
  async function reorganise(depth: number): Promise<void> {
    await chain.request({ method: 'anvil_reorg', params: [depth, []] })
    await chain.request({ method: 'anvil_dropAllTransactions' })
  }

  /** Opens a vault of two tokens with positions directly in a pool, which it moves between trades. */
  async function openShares(kind: artifacts.Artifact, own: OwnTopics, ...more: Address[]): Promise<Subject> {
    const [, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
    const vault = await openShareVault(chain, protocol, kind, ...more)
    const tick = Math.round((await observe(chain, protocol).tickOf(await chain.head())) / 10) * 10
    await chain.block(vault.deposit(alice, usdc(4_000), usdc(2) * 10n ** 12n))
    return {
      ...vault,
      own: own(vault.address),
      chance(random) {
        const depositor = random() < 0.5 ? alice : bob
        const kind = random()
        const width = 10 * Math.ceil(random() * 60)
        if (kind < 0.3) return vault.deposit(depositor, usdc(Math.ceil(random() * 900)), usdc(1) * 10n ** 11n)
        if (kind < 0.5) return vault.withdraw(depositor, BigInt(Math.ceil(random() * 9)) * 10n ** 16n)
        if (kind < 0.7) return vault.rebalance(tick - 10 * width, tick + 10 * width, tick - width, tick + width)
        return random() < 0.5
          ? protocol.swap(protocol.usdc, protocol.weth, usdc(Math.ceil(random() * 9_000)))
          : protocol.swap(protocol.weth, protocol.usdc, 10n ** 18n)
      },
    }
  }

  async function openCapital(): Promise<Subject> {
    const vault = await openVault(chain, protocol, protocol.usdc)
    return { ...vault, own: flowsOf(vault), chance: (random) => chance(vault, random) }
  }

  /** Opens a vault that pays fees in new shares. */
  async function openFees(): Promise<Subject> {
    const recipient = chain.accounts[5] as Address
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.feeVault, recipient)
    const accrue = (random: () => number) => vault.callOf(vault.owner, 'accrue', usdc(Math.ceil(random() * 9)))
    const own = { address: vault.address, topics: [transferTopic, nobody, wordOf(recipient)] }
    return { ...vault, own, chance: (random) => (random() < 0.3 ? accrue(random) : chance(vault, random)) }
  }

  /** Opens a vault of Beefy, whose strategy moves its positions at each flow and harvest. */
  async function openClm(): Promise<Subject> {
    const [deployer, owner, alice, bob] = chain.accounts as [Address, Address, Address, Address]
    const { ethPool, usdc: one, weth: other } = protocol
    const data = artifacts.creationOf(artifacts.beefyVault, ethPool, owner, deployer, other.address)
    const address = await chain.deploy(deployer, data)
    const firstBlock = await chain.head()
    const { abi } = artifacts.beefyVault
    const strategy = (await chain.client.readContract({ address, abi, functionName: 'strategy' })) as Address
    await chain.block(
      ...[alice, bob].flatMap((account) =>
        [one, other].flatMap((token) => [
          protocol.mint(account, token, 10n ** 6n * 10n ** BigInt(token.decimals)),
          protocol.approve(account, token, address),
        ]),
      ),
    )
    const deposit = (from: Address, dollars: number) =>
      callOf(from, address, abi, 'deposit', pairOf(protocol, usdc(dollars), usdc(dollars) * 5n * 10n ** 8n).amounts)
    await chain.block(deposit(alice, 4_000))
    return {
      address,
      firstBlock,
      own: { address: strategy, topics: [toEventSelector('ChargedFees(uint256,uint256,uint256)')] },
      chance(random) {
        const depositor = random() < 0.5 ? alice : bob
        const kind = random()
        if (kind < 0.3) return deposit(depositor, Math.ceil(random() * 900))
        if (kind < 0.5)
          return callOf(depositor, address, abi, 'withdraw', [BigInt(Math.ceil(random() * 9)) * 10n ** 17n])
        if (kind < 0.7) return callOf(bob, strategy, artifacts.beefyStrategy.abi, 'harvest', [])
        return protocol.swap(one, other, usdc(Math.ceil(random() * 9_000)))
      },
    }
  }

  /** Opens a vault that stakes and unstakes a position of Slipstream between trades. */
  async function openStaked(): Promise<Subject> {
    const vault = await openVault(chain, protocol, protocol.usdc)
    slipstream ??= await deploySlipstream(chain, protocol, protocol.wbtc)
    const venue = slipstream
    const calls = callsOf(protocol, venue, vault)
    const tick = Math.round((await observe(chain, protocol).tickOf(await chain.head())) / 10) * 10
    const id = await nextIdOf(venue.manager)
    await chain.block(
      protocol.mint(vault.address, protocol.weth, 10n ** 20n),
      protocol.mint(vault.address, protocol.usdc, usdc(100_000)),
      vault.run(
        ...calls.allow(protocol.usdc, protocol.weth),
        calls.mint([tick - 600, tick + 600], usdc(20_000), 10n ** 19n),
      ),
    )
    return {
      ...vault,
      own: { address: venue.manager, topics: [transferTopic, wordOf(vault.address), wordOf(venue.gauge)] },
      chance(random) {
        const kind = random()
        if (kind < 0.2) return vault.run(...calls.stake(venue, id))
        if (kind < 0.4) return vault.run(calls.atGauge(venue, 'withdraw', id))
        if (kind < 0.5) return vault.run(calls.collect(id))
        if (kind < 0.7) return venue.swap(protocol.usdc, usdc(Math.ceil(random() * 9_000)))
        return chance(vault, random)
      },
    }
  }

  /** Opens a vault with requested deposits. */
  async function openRequests(): Promise<Subject> {
    const vault = await openVault(chain, protocol, protocol.usdc, artifacts.asyncVault, false)
    const [, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
    const requests = [alice, bob].map((one) => vault.callOf(one, 'requestDeposit', usdc(9_000), one, one))
    await chain.block(...requests, ...[alice, bob].map((one) => vault.callOf(one, 'fulfil', one)))
    return {
      ...vault,
      own: { address: vault.address, topics: [requestTopics] },
      chance(random) {
        const one = random() < 0.5 ? alice : bob
        const kind = random()
        const units = usdc(Math.ceil(random() * 90))
        if (kind < 0.2) return vault.callOf(one, 'requestDeposit', units, one, one)
        if (kind < 0.3) return vault.callOf(one, 'fulfil', one)
        if (kind < 0.6) return vault.callOf(one, 'claimDeposit', units / 2n, one)
        if (kind < 0.75) return vault.callOf(one, 'requestRedeem', units / 4n, one, one)
        if (kind < 0.9) return vault.callOf(one, 'claimRedeem', units / 8n, one)
        return random() < 0.5 ? vault.pause() : vault.unpause()
      },
    }
  }

  /** Opens a vault with positions as NFTs of Uniswap, which it mints, changes, transfers and burns. */
  async function openNfts(): Promise<Subject> {
    const vault = await openVault(chain, protocol, protocol.usdc)
    const [stranger, , alice] = chain.accounts as [Address, Address, Address]
    const { manager, usdc: one, weth: other } = protocol
    const mintData = (): Hex =>
      protocol.mintData(vault.address, -887_270, 887_270, [
        [one, usdc(300)],
        [other, usdc(1) * 10n ** 11n],
      ])
    await chain.block(vault.deposit(alice, usdc(50_000)), protocol.mint(vault.address, other, 10n ** 20n))
    const [minted] = await chain.block(vault.run([manager, mintData()]))
    const first = minted && logsOf(minted, vault.address, manager).find(({ name }) => name === 'IncreaseLiquidity')
    const id = first?.args['tokenId'] as bigint
    return {
      ...vault,
      own: { address: manager, topics: [takingTopics, idTopic(id)] },
      chance(random) {
        const kind = random()
        if (kind < 0.08) return vault.run([manager, mintData()])
        if (kind < 0.22) return vault.run([manager, protocol.decreaseData(id, 10n ** 9n)])
        if (kind < 0.34) return vault.run([manager, protocol.collectData(id, vault.address)])
        if (kind < 0.38) return vault.run([manager, transferData(vault.address, stranger, id)])
        if (kind < 0.44) return transferOf(protocol, stranger, vault.address, id)
        if (kind < 0.52) return protocol.swap(one, other, usdc(Math.ceil(random() * 90_000)))
        return chance(vault, random)
      },
    }
  }

  /** Opens a vault with a position of PancakeSwap v3. */
  async function openPancake(): Promise<Subject> {
    const vault = await openVault(chain, protocol, protocol.usdc)
    pancake ??= await deployPancake(chain, protocol)
    const venue = pancake
    const calls = callsOf(protocol, venue, vault)
    const tick = Math.round((await observe(chain, protocol).tickOf(await chain.head())) / 10) * 10
    const id = await nextIdOf(venue.manager)
    const mint = calls.mint([tick - 600, tick + 600], usdc(2_000), 10n ** 18n)
    await chain.block(
      protocol.mint(vault.address, protocol.weth, 10n ** 20n),
      protocol.mint(vault.address, protocol.usdc, usdc(100_000)),
      vault.run(...calls.allow(protocol.usdc, protocol.weth), mint),
    )
    return {
      ...vault,
      own: { address: venue.manager, topics: [takingTopics, idTopic(id)] },
      chance(random) {
        const kind = random()
        if (kind < 0.15) return vault.run(mint)
        if (kind < 0.35) return vault.run(calls.collect(id))
        if (kind < 0.5) return vault.run(calls.decrease(id, 10n ** 9n))
        if (kind < 0.7) return venue.swap(protocol.usdc, usdc(Math.ceil(random() * 9_000)))
        return chance(vault, random)
      },
    }
  }

  /** Opens a vault with positions of Uniswap v4, which it mints, changes, transfers and burns. */
  async function openV4(): Promise<Subject> {
    const vault = await openVault(chain, protocol, protocol.usdc)
    if (v4 === undefined) {
      const deployed = await deployV4(chain, protocol)
      const key = await deployed.createPool([protocol.weth, 10n ** 18n], [protocol.usdc, 2_000_000_000n])
      v4 = { ...deployed, key }
    }
    const { manager, key, swap, nextId } = v4
    const [stranger] = chain.accounts as [Address]
    const own = v4CallsOf(manager, vault.address)
    const back = v4CallsOf(manager, stranger)
    const funds = [own.fund(protocol.usdc, usdc(900)), own.fund(protocol.weth, 10n ** 18n)]
    const mint = own.mint(key, [-887_220, 887_220], 10n ** 12n)
    const id = await nextId()
    await chain.block(
      protocol.mint(vault.address, protocol.weth, 10n ** 21n),
      protocol.mint(vault.address, protocol.usdc, usdc(100_000)),
      vault.run(...funds, mint),
    )
    return {
      ...vault,
      own: { address: v4.poolManager, topics: [modifyTopic, null, wordOf(manager)] },
      chance(random) {
        const kind = random()
        if (kind < 0.1) return vault.run(...funds, mint)
        if (kind < 0.2) return vault.run(own.decrease(key, id, 10n ** 9n))
        if (kind < 0.3) return vault.run(own.collect(key, id))
        if (kind < 0.36) return vault.run(own.transfer(stranger, id))
        if (kind < 0.44) {
          const [to, data] = back.transfer(vault.address, id)
          return { from: stranger, to, data }
        }
        if (kind < 0.48) return vault.run(own.burn(key, id + 1n + BigInt(Math.floor(random() * 3))))
        if (kind < 0.58) return swap(key, protocol.usdc, usdc(Math.ceil(random() * 90_000)))
        return chance(vault, random)
      },
    }
  }

  const nextIdOf = async (manager: Address): Promise<bigint> =>
    ((await chain.client.readContract({
      address: manager,
      abi: artifacts.clManager.abi,
      functionName: 'totalSupply',
    })) as bigint) + 1n

  /** Returns a random operation on a vault. Some fail, such as pausing twice, and leave no log. */
  function chance(vault: Operator, random: () => number): Call {
    const [, , alice, bob] = chain.accounts as [Address, Address, Address, Address]
    const depositor = random() < 0.5 ? alice : bob
    const kind = random()
    if (kind < 0.55) return vault.deposit(depositor, usdc(Math.ceil(random() * 900)))
    if (kind < 0.8) return vault.withdraw(depositor, usdc(Math.ceil(random() * 300)))
    return kind < 0.85 ? vault.pause() : vault.unpause()
  }

  async function mineSome(vault: Subject, random: () => number): Promise<void> {
    for (let count = Math.floor(random() * 3); count >= 0; count--) await chain.send(vault.chance(random))
    await chain.mine()
  }

  /** Returns the ledger rows that follow from the logs of the canonical chain, newest first. */
  async function canonicalRows({ address, firstBlock }: Place, last: number) {
    const logs = await chain.client.getLogs({ address, fromBlock: BigInt(firstBlock), toBlock: BigInt(last) })
    return logs
      .map(({ topics, transactionHash, logIndex, blockNumber }) => ({
        txHash: transactionHash,
        logIndex,
        block: Number(blockNumber),
        type: types.get(topics[0] ?? ''),
      }))
      .filter(({ type }) => type !== undefined)
      .reverse()
  }

  async function logsSince({ address, topics }: OwnLogs, block: number): Promise<unknown[]> {
    const filter = { address, topics, fromBlock: numberToHex(block + 1), toBlock: 'latest' }
    return (await chain.request({ method: 'eth_getLogs', params: [filter] })) as unknown[]
  }

  async function ledgerOf(database: Database, vault: Place) {
    const response = await gatewayOn(database).get(`/vault/${vault.address}/events?limit=1000`)
    if (response.status !== 200) return null
    const rows = (await response.json()) as { txHash: string; logIndex: number; block: number; type: string }[]
    return rows
      .filter(({ type }) => compared.has(type))
      .map(({ txHash, logIndex, block, type }) => ({ txHash, logIndex, block, type }))
  }

  /** Starts a proxy with random faults: no response, null, an error, or no contract; returns it as in a chain.json. */
  async function startErringNode(random: () => number) {
    const proxy = await startProxy(chain.url, (_, pass) => {
      const chance = random()
      if (chance < 0.03) return Promise.resolve('drop')
      if (chance < 0.06) return Promise.resolve({ result: null })
      if (chance < 0.08) return Promise.resolve({ error: { code: -32_000, message: 'header not found' } })
      return chance < 0.09 ? Promise.resolve({ result: '0x' }) : pass()
    })
    proxies.push(proxy)
    return [{ url: proxy.url, requestsPerSecond: 10_000 }]
  }

  const burnsOf = (vault: Address): OwnLogs => ({ address: protocol.ethPool, topics: [burnTopic, wordOf(vault)] })
  const kinds = [
    ['ERC-4626', openCapital],
    ['two-token shares of Gamma', () => openShares(artifacts.gammaVault, burnsOf, chain.accounts[2] as Address)],
    ['two-token shares of Charm', () => openShares(artifacts.charmVault, collectionsOf)],
    ['two-token shares of ICHI', () => openShares(artifacts.ichiVault, ownRebalances, chain.accounts[6] as Address)],
    ['fees in shares', openFees],
    ['Beefy CLM', openClm],
    ['Slipstream', openStaked],
    ['ERC-7540', openRequests],
    ['Uniswap v3 NFTs', openNfts],
    ['PancakeSwap v3', openPancake],
    ['Uniswap v4', openV4],
  ] as const
  // In CI each kind has one seed, except for ERC-4626, which has all.
  const subjects = kinds.flatMap(([kind, open], index) =>
    seeds
      .filter((seed) => isFullSize || index === 0 || seed === 1 + (index % seeds.length))
      .map((seed) => ({ kind, seed, open })),
  )

  test.each(subjects)(
    'up to its finality, with kills between and a node that errs, leaves the ledger of the canonical one ($kind, seed $seed)',
    async ({ seed, open }) => {
      const random = randomOf(seed)
      const vault = await open()
      const json = jsonOf(vault)
      const database = await emptyDatabase()
      const begun = await chain.head()
      const erring = await startErringNode(randomOf(seed + 1_000))
      let reader = await startReader(database, { ...json, rpc: erring })
      let kills = 0
      const isRich = async (): Promise<boolean> =>
        kills > 0 &&
        (await logsSince(vault.own, begun)).length > 0 &&
        (await canonicalRows(vault, await chain.head())).length > 2
      for (let round = 0; round < rounds || (round < maxRounds && !(await isRich())); round++) {
        await mineSome(vault, random)
        // The depositors were funded in the blocks after the first one.
        const since = (await chain.head()) - begun
        if (random() < 0.35) await reorganise(Math.min(since, Math.ceil(random() * finality)))
        if (random() > 0.3) continue
        await reader.kill()
        kills++
        reader = await startReader(database, { ...json, rpc: erring })
      }
      await chain.mine(finality + 1)
      const expected = await canonicalRows(vault, await chain.head())
      expect(await isRich()).toBe(true)
      await vi.waitFor(async () => expect(await ledgerOf(database, vault)).toEqual(expected), {
        timeout: patienceMilliseconds / 2,
        interval: 50,
      })
      await reader.kill()

      // The facts read despite reorganisations and kills equal those of one run.
      await applyChain(database, json)
      const read = await dumpReadModel(database)
      await emptyDatabase()
      await applyChain(database, json)
      expect(await dumpReadModel(database)).toEqual(read)
    },
  )

  test('deeper than its finality stops the reader, also after a restart', async () => {
    const vault = await openCapital()
    const json = jsonOf(vault)
    const database = await emptyDatabase()
    const random = randomOf(99)
    for (let round = 0; round < 8; round++) await mineSome(vault, random)
    const reader = await startReader(database, json)
    // The final block waits for the next one.
    const expectedRows = await canonicalRows(vault, (await chain.head()) - finality - 1)
    expect(expectedRows.length).toBeGreaterThan(1)
    await vi.waitFor(async () => expect(await ledgerOf(database, vault)).toEqual(expectedRows), {
      timeout: patienceMilliseconds / 2,
      interval: 50,
    })
    await reorganise(finality + 5)
    await chain.mine(3)
    await expect(reader.ended).rejects.toThrow(ChainDiverged)
    await expect(applyChain(database, json)).rejects.toThrow(
      /^The chain was reorganised deeper than its finality: block \d+ was read as 0x/,
    )
    expect(await ledgerOf(database, vault)).toEqual(expectedRows)
  })

  test('is read up to the block that its node calls final', async () => {
    const vault = await openVault(chain, protocol, protocol.usdc)
    const json = jsonOf(vault, { finality: 'finalized' })
    const database = await emptyDatabase()
    const [, , alice] = chain.accounts as [Address, Address, Address]
    await chain.block(vault.deposit(alice, usdc(5)))
    await applyChain(database, json)
    expect((await ledgerOf(database, vault)) ?? []).toEqual([])
    await chain.mine(9)
    await applyChain(database, json)
    expect(await ledgerOf(database, vault)).toHaveLength(1)
  })
})

const types = new Map(
  (
    [
      ['Deposit(address,address,uint256,uint256)', 'deposit'],
      ['Withdraw(address,address,address,uint256,uint256)', 'withdraw'],
      ['Paused(address)', 'suspend'],
      ['Unpaused(address)', 'resume'],
      ['Deposit(address,address,uint256,uint256,uint256)', 'deposit'],
      ['Withdraw(address,address,uint256,uint256,uint256)', 'withdraw'],
      ['Deposit(address,uint256,uint256,uint256,uint256,uint256)', 'deposit'],
      ['Withdraw(address,uint256,uint256,uint256)', 'withdraw'],
    ] as const
  ).map(([signature, type]) => [toEventSelector(signature) as string, type]),
)

/** Types of the rows whose logs are compared; the others are covered by the comparison with one run. */
const compared: ReadonlySet<string> = new Set(types.values())

type Place = Pick<Operator, 'address' | 'firstBlock'>

interface Subject extends Place {
  /** Returns a random operation on it. */
  readonly chance: (random: () => number) => Call
  /** Logs that only the adapter under test reads: the scenario has some. */
  readonly own: OwnLogs
}

type OwnTopics = (vault: Address) => OwnLogs

type OwnLogs = Pick<Place, 'address'> & { readonly topics: readonly (Hex | readonly Hex[] | null)[] }

const wordOf = (address: Address): Hex => padHex(address, { size: 32 })
const nobody = wordOf(zeroAddress)
const transferTopic = toEventSelector('Transfer(address,address,uint256)')
/** Changes of an NFT that only its holder can make. */
const takingTopics = [
  'DecreaseLiquidity(uint256,uint128,uint256,uint256)',
  'Collect(uint256,address,uint256,uint256)',
].map((event) => toEventSelector(event))
/** Liquidity of an owner that is removed from a pool itself. */
const burnTopic = toEventSelector('Burn(address,int24,int24,uint128,uint256,uint256)')
const requestTopics = [
  'DepositRequest(address,address,uint256,address,uint256)',
  'RedeemRequest(address,address,uint256,address,uint256)',
].map((event) => toEventSelector(event))
const modifyTopic = toEventSelector('ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)')
const flowsOf = ({ address }: Place): OwnLogs => ({ address, topics: [[...types.keys()] as Hex[]] })
const collectionsOf: OwnTopics = (address) => ({
  address,
  topics: [toEventSelector('CollectFees(uint256,uint256,uint256,uint256)')],
})
const ownRebalances: OwnTopics = (address) => ({
  address,
  topics: [toEventSelector('Rebalance(int24,uint256,uint256,uint256,uint256,uint256)')],
})
const idTopic = (id: bigint): Hex => numberToHex(id, { size: 32 })

interface Reader {
  readonly ended: Promise<unknown>
  kill(): Promise<void>
}

const proxies: Awaited<ReturnType<typeof startProxy>>[] = []

/** Running readers, which are killed after a test. */
const readers: Reader[] = []

/** Starts a reader that follows the chain until it is killed, which loses uncommitted work. */
async function startReader(database: TestDatabase, json: ChainJson): Promise<Reader> {
  const stopping = new AbortController()
  const mortal: Database = {
    ...database,
    transaction: (work) =>
      database.transaction(async (transaction) => {
        const done = await work(transaction)
        if (stopping.signal.aborted) throw new Error('It is killed before it commits')
        return done
      }),
  }
  const options = optionsOf(json, { once: false, signal: stopping.signal })
  const source = chainFeed(options, inChain(await readFeedPosition(database.prisma, chainName(options.config))))
  const ended = ingest({ database: mortal, source })
  ended.catch(() => undefined)
  const reader: Reader = {
    ended,
    kill: async () => {
      stopping.abort()
      await ended.catch(() => undefined)
    },
  }
  readers.push(reader)
  return reader
}
