import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Address } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { followedChain } from '../../src/cli/commands/chain.ts'
import { createLog } from '../../src/cli/log.ts'
import { chainName } from '../../src/chain/feed.ts'
import type { Database } from '../../src/database/database.ts'
import { openDatabase } from '../../src/database/open.ts'
import { type FeedPosition, inChain, readFeedPosition } from '../../src/database/write/feed.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { createDatabase, createOnServer, empty, emptyDatabase, postgresUrl } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { withTransactionHook } from '../support/transaction-hook.ts'
import { prepareHomes } from '../support/home.ts'
import { fillTables, readTables } from '../support/older-database.ts'
import { noOwnPostgreSql, type OwnPostgreSql, startOwnPostgreSql } from '../support/own-postgresql.ts'
import { commandLine } from '../support/process.ts'
import { proxyTo } from '../support/proxy.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { applyChain, chainFileOf, chainJson, type ChainJson, configOf } from './support/reading.ts'

const log = createLog({ level: 'error', secrets: [], output: { write: () => undefined } })
const { start } = commandLine()
const homes = prepareHomes()

describeOnChain('a chain that is followed while its database', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let json: ChainJson
  let alice: Address
  let made = 0

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    ;[, , alice] = chain.accounts as [Address, Address, Address]
    json = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])
    await deposits(4)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  /** Mines deposits with marks between them, and blocks that make them final. */
  async function deposits(count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      await chain.block(vault.deposit(alice, 1_000_000n * BigInt(at + 1)))
      await chain.mine(7)
    }
    made += count
  }

  const eventually = (check: () => Promise<void> | void): Promise<void> =>
    vi.waitFor(check, { timeout: patienceMilliseconds / 4, interval: 50 })
  const hasAll = (database: Database): Promise<void> =>
    eventually(async () => expect(await database.prisma.ledgerRow.count()).toBe(made))
  const positionIn = (database: Database): Promise<FeedPosition | null> =>
    readFeedPosition(database.prisma, chainName(configOf(json)))

  async function asUndisturbed(database: Database): Promise<void> {
    const whole = await createDatabase()
    await applyChain(whole, json)
    const wanted = await positionIn(whole)
    await eventually(async () => expect(await positionIn(database)).toEqual(wanted))
    expect(await dumpReadModel(database)).toEqual(await dumpReadModel(whole))
    await whole.close()
  }

  describe('falls back', () => {
    let real: Database
    let reopened: (FeedPosition | null)[]
    let stopping: AbortController
    let running: Promise<unknown>
    let beforeNext: ReturnType<typeof withTransactionHook>['beforeNext']

    beforeEach(async () => {
      real = await emptyDatabase()
      const falling = withTransactionHook(real)
      beforeNext = falling.beforeNext
      reopened = []
      stopping = new AbortController()
      const { signal } = stopping
      const source = await followedChain({
        database: real,
        chain: chainFileOf(json),
        log,
        signal,
        onLastingFault: () => undefined,
      })
      const onReopen = (stored: FeedPosition | null): void => void reopened.push(stored)
      const nowSeconds = (): number => Date.now() / 1_000
      running = ingest({ database: falling.database, source, signal, onReopen, nowSeconds })
      running.catch(() => undefined)
      await hasAll(real)
    })
    afterEach(() => stopping.abort())

    async function ends(): Promise<void> {
      await asUndisturbed(real)
      stopping.abort()
      await running
    }

    test('to an earlier copy of all rows reads again from there', async () => {
      const [copy, position] = [await readTables(real), await positionIn(real)]
      await deposits(2)
      await hasAll(real)
      beforeNext(async () => {
        await empty(real)
        await fillTables(real, copy)
      })
      await deposits(2)
      await hasAll(real)
      await ends()
      expect(reopened).toMatchObject([position])
    })

    test('to an earlier copy again and again, also while it reads again', async () => {
      const copy = await readTables(real)
      const restore = async (): Promise<void> => {
        await empty(real)
        await fillTables(real, copy)
      }
      await deposits(3)
      for (let count = 1; count <= 3; count++) {
        await hasAll(real)
        beforeNext(async () => {
          await restore()
          // One batch is applied again in between.
          beforeNext(() => Promise.resolve(beforeNext(restore)))
        })
        await deposits(1)
        await eventually(() => expect(reopened.length).toBeGreaterThanOrEqual(count))
      }
      await hasAll(real)
      await ends()
    })

    test('to nothing reads again from the beginning', async () => {
      beforeNext(() => empty(real))
      await deposits(2)
      await hasAll(real)
      await ends()
      expect(reopened).toEqual([null])
    })

    test('to an earlier copy is noticed while no block brings facts', async () => {
      const copy = await readTables(real)
      await deposits(2)
      await hasAll(real)
      beforeNext(async () => {
        await empty(real)
        await fillTables(real, copy)
      })
      await eventually(() => expect(reopened).toHaveLength(1))
      await hasAll(real)
      await ends()
    })

    test('to an earlier position, with its rows, loses nothing', async () => {
      const { line, byte, fingerprint } = await real.prisma.feed.findFirstOrThrow()
      const position = { line, byte, fingerprint }
      await deposits(2)
      await hasAll(real)
      beforeNext(() => real.prisma.feed.updateMany({ data: position }))
      await deposits(2)
      await hasAll(real)
      await ends()
    })

    test('to a position ahead of it, by another process, goes on', async () => {
      beforeNext(() => applyChain(real, json))
      await deposits(3)
      await hasAll(real)
      await deposits(1)
      await hasAll(real)
      await ends()
      expect(reopened).toEqual([])
    })
  })

  test('falls back between the read of the progress of another file and the first batch, reads the missing facts again', async () => {
    const real = await emptyDatabase()
    await applyChain(real, json)
    const copy = await readTables(real)
    await deposits(2)
    await applyChain(real, json)
    const { database, beforeNext } = withTransactionHook(real)
    // The first transaction reads the progress of the vaults.
    beforeNext(() =>
      Promise.resolve(
        beforeNext(async () => {
          await empty(real)
          await fillTables(real, copy)
        }),
      ),
    )
    const other = {
      ...json,
      strategies: [
        ...(json['strategies'] as object[]),
        { id: 'two', ts: 1_700_000_000, name: 'Two', tagline: 'T', description: 'D' },
      ],
    }
    const stopping = new AbortController()
    const { signal } = stopping
    const chain = chainFileOf(other, 'other.json')
    const source = await followedChain({ database: real, chain, log, signal, onLastingFault: () => undefined })
    const reopened: (FeedPosition | null)[] = []
    const running = ingest({ database, source, signal, onReopen: (stored) => void reopened.push(stored) })
    const whole = await createDatabase()
    await applyChain(whole, other)
    await hasAll(real)
    const blockIn = async (of: Database): Promise<number | undefined> =>
      inChain(await readFeedPosition(of.prisma, chain.name))?.block
    const wanted = await blockIn(whole)
    await eventually(async () => expect(await blockIn(real)).toBe(wanted))
    expect(await dumpReadModel(real)).toEqual(await dumpReadModel(whole))
    expect(reopened).toEqual([null])
    stopping.abort()
    await running
    await whole.close()
  })

  describe.skipIf(postgresUrl === undefined || noOwnPostgreSql !== null)('fails over', () => {
    let other: OwnPostgreSql
    beforeAll(async () => {
      other = await startOwnPostgreSql()
    }, 120_000)
    afterAll(() => other.remove())

    test('to a server with older data reads the missing facts again', async () => {
      const url = await createOnServer(postgresUrl ?? '')
      const at = { engine: 'postgresql', connections: 3 } as const
      const first = await openDatabase({ ...at, url })
      const proxy = await proxyTo(url)
      const file = path.join(homes.folder, 'failover.json')
      await writeFile(file, JSON.stringify(json))
      const gateway = start(['serve', '--chain', file], { DATABASE_URL: proxy.url, DEMO: '0', PORT: '0' })
      await hasAll(first)
      const copy = await readTables(first)
      await deposits(3)
      await hasAll(first)

      const name = new URL(url).pathname.slice(1)
      const admin = await openDatabase({ ...at, url: other.url })
      await admin.prisma.$executeRawUnsafe(`create database ${name}`)
      await admin.close()
      const second = await openDatabase({ ...at, url: other.url.replace(/\/postgres$/, `/${name}`) })
      await fillTables(second, copy)
      proxy.leadTo(other.url)
      await deposits(2)
      await hasAll(second)
      await asUndisturbed(second)
      expect(gateway.said()).toContain('The database has lost facts that were applied.')
      gateway.kill('SIGTERM')
      expect((await gateway.ended).status).toBe(0)
      await proxy.close()
      await first.close()
      await second.close()
    })
  })
})
