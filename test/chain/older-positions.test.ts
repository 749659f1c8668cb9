import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database } from '../../src/database/database.ts'
import { emptyDatabase } from '../support/database.ts'
import { dumpReadModel } from '../support/dump.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { applyChain, chainJson, type ChainJson } from './support/reading.ts'

/** Fingerprints of positions as all versions have written them, from that of this version. */
const forms: readonly [string, (fingerprint: string) => string][] = [
  ['the first version, with a hash only', (fingerprint) => fingerprint.slice(0, 66)],
  ['a version with vaults that lag behind', (fingerprint) => fingerprint.replace(' v5', '')],
  ['that version, which skipped applied facts', (fingerprint) => fingerprint.replace(' v5', ' skips-applied')],
  ['version 2', (fingerprint) => fingerprint.replace(' v5', ' v2')],
  ['version 4', (fingerprint) => fingerprint.replace(' v5', ' v4')],
  ['version 4, which skipped applied facts', (fingerprint) => fingerprint.replace(' v5', ' v4 skips-applied')],
]

describeOnChain('a chain whose position was stored by', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let json: ChainJson

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    json = chainJson(chain.url, protocol, [{ address: vault.address, firstBlock: vault.firstBlock }])
    await deposits()
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  async function deposits(): Promise<void> {
    for (const amount of [1, 2, 3]) {
      await chain.block(vault.deposit(chain.accounts[2] as Address, usdc(amount)))
      await chain.mine(4)
    }
  }

  /** Returns the rows of a database, without digests. */
  async function rowsOf(database: Database): Promise<unknown> {
    return JSON.parse(JSON.stringify(await dumpReadModel(database)).replaceAll(/digest\\": \\"[^"]*"/g, 'digest'))
  }

  test.each(forms)('%s is read on from there, with each fact once', async (_name, older) => {
    const database = await emptyDatabase()
    await applyChain(database, json)
    const feed = await database.prisma.feed.findFirstOrThrow()
    const fingerprint = older(feed.fingerprint)
    expect(fingerprint).not.toBe(feed.fingerprint)
    await database.prisma.feed.update({ where: { name: feed.name }, data: { fingerprint } })
    // An earlier version may have derived other facts of the last second, which are not contradicted.
    const other = new Uint8Array(8)
    await database.prisma.equityPoint.updateMany({ data: { markDigest: other } })
    await database.prisma.ledgerRow.updateMany({ data: { digest: other } })
    const before = await database.prisma.ledgerRow.count()
    await deposits()
    const { applied, rejected } = await applyChain(database, json)
    expect({ applied, rejected }).toMatchObject({ applied: { event: 3 }, rejected: {} })
    expect(await database.prisma.ledgerRow.count()).toBe(before + 3)
    const whole = await emptyDatabase()
    await applyChain(whole, json)
    expect(await rowsOf(database)).toEqual(await rowsOf(whole))
  })
})
