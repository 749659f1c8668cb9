import { Readable } from 'node:stream'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { chainFeed } from '../../src/chain/feed.ts'
import type { SetAsideVault } from '../../src/chain/vault-groups/set-aside.ts'
import { followedChain } from '../../src/cli/commands/chain.ts'
import type { Database } from '../../src/database/database.ts'
import { ingest } from '../../src/feed/ingest.ts'
import { inputSource } from '../../src/feed/reading/source.ts'
import { emptyDatabase } from '../support/database.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc, weth } from './support/amounts.ts'
import * as artifacts from './support/artifacts.ts'
import { callsOf, deploySlipstream } from './support/cl-venues.ts'
import { observe } from './support/observer.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainFileOf, chainJson, type ChainJson, linesOf, optionsOf } from './support/reading.ts'

describeOnChain('vaults of which a fact cannot be stored', () => {
  let chain: TestChain
  let protocol: Protocol
  let alice: Address
  /** Fits, all the time. */
  let good: Operator

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    ;[, , alice] = chain.accounts as [Address, Address, Address]
    good = await openVault(chain, protocol, protocol.usdc)
    await chain.block(good.deposit(alice, usdc(100)))
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  const jsonOf = (vaults: readonly Operator[], more: ChainJson = {}): ChainJson =>
    chainJson(
      chain.url,
      protocol,
      vaults.map(({ address, firstBlock }) => ({ address, firstBlock })),
      more,
    )

  /** Reads the good vault beside another one, which must not change its facts. */
  async function expectSetAside(odd: Operator, more: ChainJson = {}): Promise<SetAsideVault | undefined> {
    await chain.block(good.deposit(alice, usdc(5)))
    await chain.mine(12)
    let aside: readonly SetAsideVault[] = []
    const onSetAside = (vaults: readonly SetAsideVault[]): void => void (aside = vaults)
    const lines: string[] = []
    for await (const facts of chainFeed({ ...optionsOf(jsonOf([good, odd], more)), onSetAside }, null).facts) {
      lines.push(...facts.map((fact) => JSON.stringify(fact)))
    }
    const others = lines.filter((line) => !line.includes(`"vault":"${odd.address}"`))
    expect(others).toEqual(await linesOf(jsonOf([good], more)))
    expect(aside.map(({ address }) => address)).toEqual([odd.address])
    return aside[0]
  }

  test('are set aside where an amount has more digits than a fact can have', async () => {
    const odd = await openVault(chain, protocol, protocol.usdc)
    const units = 10n ** 39n
    await chain.block(protocol.mint(alice, protocol.usdc, units))
    await chain.block(odd.deposit(alice, units), odd.withdraw(alice, units))
    const amountUsd = `1${'0'.repeat(33)}`
    expect((await expectSetAside(odd))?.reason).toMatch(
      `${odd.address} has a deposit event whose amountUsd is ${amountUsd}, which has more than 32 digits before the point, at block`,
    )
  })

  test('are set aside where a pool tells a fee of more than all', async () => {
    const [deployer] = chain.accounts as [Address]
    const address = await chain.deploy(deployer, artifacts.creationOf(artifacts.token, 'AERO', 18))
    const slipstream = await deploySlipstream(chain, protocol, { address, symbol: 'AERO', decimals: 18 })
    const odd = await openVault(chain, protocol, protocol.usdc)
    const calls = callsOf(protocol, slipstream, odd)
    const tick = Math.round((await observe(chain, protocol).tickOf(await chain.head())) / 10) * 10
    await chain.block(odd.deposit(alice, usdc(90_000)), protocol.mint(odd.address, protocol.weth, weth(40)))
    await chain.block(
      odd.run(
        ...calls.allow(protocol.usdc, protocol.weth),
        calls.mint([tick - 600, tick + 600], usdc(20_000), weth(10)),
      ),
    )
    await chain.mine(12)
    await chain.block(slipstream.setFee(2_000_000))
    expect((await expectSetAside(odd, { otherPositionManagers: [slipstream.manager] }))?.reason).toMatch(
      `${odd.address} has a mark fact whose positions[0].pool.feeTier is 2000000, more than 1000000, at block`,
    )
  })

  test('are set aside where the feed refuses it by a rule about several facts, also after a restart', async () => {
    const odd = await openVault(chain, protocol, protocol.usdc)
    await chain.block(odd.deposit(alice, usdc(10)), odd.report(10n ** 40n))
    const transferred = 10n ** 17n
    for (let times = 1; times <= 4; times++) {
      const idle = await observe(chain, protocol).balance(odd.address, protocol.usdc, await chain.head())
      await chain.block(protocol.mint(odd.address, protocol.usdc, transferred))
      await chain.block(odd.withdraw(alice, idle + transferred - 1n), good.deposit(alice, usdc(times)))
    }
    await chain.mine(12)
    const database = await emptyDatabase()
    for (const isRestart of [false, true]) {
      if (isRestart) await chain.block(good.deposit(alice, usdc(7)))
      await chain.mine(4)
      const [aside] = await follow(database, jsonOf([good, odd]), await depositsOf(good))
      expect(aside).toMatchObject({
        address: odd.address,
        reason: expect.stringMatching(
          `^A fact of ${odd.address} was refused: \\w+ would take the day's growth to \\d+\\.?\\d*, which has more than 40 digits before the point$`,
        ) as string,
      })
    }
    // Its facts before the one that was refused stay.
    expect(await depositsIn(database, odd)).toBe(1)
  })

  test('are set aside where their first fact contradicts one that is known', async () => {
    const odd = await openVault(chain, protocol, protocol.usdc)
    const fits = await openVault(chain, protocol, protocol.usdc)
    await chain.block(fits.deposit(alice, usdc(3)))
    await chain.mine(12)
    const json = jsonOf([odd, fits])
    const [{ id: strategy, ts }] = json['strategies'] as [{ id: string; ts: number }]
    const known = [
      { kind: 'strategy', ...(json['strategies'] as [object])[0] },
      { kind: 'vault', ts, vault: odd.address, owner: alice, strategy },
    ]
    const database = await emptyDatabase()
    const bytes = Buffer.from(known.map((fact) => `${JSON.stringify(fact)}\n`).join(''))
    await ingest({ database, source: inputSource(Readable.from([bytes])) })
    const [aside] = await follow(database, json, 1, fits)
    expect(aside).toEqual({
      address: odd.address,
      reason: `A fact of ${odd.address} was refused: vault is that of a known vault ${odd.address}, which has other contents`,
      block: odd.firstBlock,
    })
  })

  /** Applies a chain until a vault has so many deposits; returns the vaults that are set aside then. */
  async function follow(
    database: Database,
    json: ChainJson,
    deposits: number,
    vault = good,
  ): Promise<readonly SetAsideVault[]> {
    const stopping = new AbortController()
    const { signal } = stopping
    let aside: readonly SetAsideVault[] = []
    const log = { info: nothing, warn: nothing, error: nothing, answered: nothing, flush: nothing }
    const source = await followedChain({
      database,
      log,
      signal,
      chain: chainFileOf(json),
      onLastingFault: nothing,
      onSetAside: (_, vaults) => void (aside = vaults),
    })
    const applied = ingest({ database, source, signal })
    const reached = vi.waitFor(
      async () => {
        expect(await depositsIn(database, vault)).toBe(deposits)
        expect(aside).toHaveLength(1)
      },
      { timeout: 60_000, interval: 100 },
    )
    await Promise.race([applied, reached])
    stopping.abort()
    await applied
    return aside
  }

  const depositsIn = (database: Database, { address }: Operator): Promise<number> =>
    database.prisma.ledgerRow.count({ where: { vault: { address }, type: 'deposit' } })

  async function depositsOf({ address, firstBlock }: Operator): Promise<number> {
    const lines = await linesOf(chainJson(chain.url, protocol, [{ address, firstBlock }]))
    return lines.filter((line) => line.includes('"type":"deposit"')).length
  }
})

function nothing(): void {
  // What is logged is not tested here.
}
