import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { commandLine } from '../support/process.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson } from './support/reading.ts'

const { start } = commandLine()
const homes = prepareHomes()

interface Place {
  readonly chain: TestChain
  readonly protocol: Protocol
  readonly vault: Operator
  readonly chainId: number
}

describeOnChain('several chains in one gateway', () => {
  const places: Place[] = []

  beforeAll(async () => {
    for (const chainId of [31_337, 31_338]) {
      const chain = await startChain({ chainId })
      const protocol = await deployProtocol(chain)
      // The same account has created as many contracts on each: the first vaults have one address.
      if (places.length > 0) await openVault(chain, protocol, protocol.usdc)
      const vault = await openVault(chain, protocol, protocol.usdc)
      await chain.block(vault.deposit(chain.accounts[2] as Address, BigInt(chainId)))
      await chain.mine(4)
      places.push({ chain, protocol, vault, chainId })
    }
  }, patienceMilliseconds)
  afterAll(() => Promise.all(places.map(({ chain }) => chain.stop())))

  async function fileOf({ chain, protocol, chainId }: Place, { address, firstBlock }: Operator): Promise<string> {
    const file = path.join(homes.folder, `chain-${chainId}.json`)
    const json = chainJson(chain.url, protocol, [{ address, firstBlock }], { chainId })
    await writeFile(file, JSON.stringify(json))
    return file
  }

  async function serve(...files: readonly string[]) {
    const home = await homes.createInFolder()
    const args = files.flatMap((file) => ['--chain', file])
    return start(['serve', ...args], { ...home.env, DEMO: '0', PORT: '0' })
  }

  test('are all read', async () => {
    const [one, other] = places as [Place, Place]
    const gateway = await serve(await fileOf(one, one.vault), await fileOf(other, other.vault))
    const [, port = ''] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
    for (const { vault, chainId } of places) {
      await vi.waitFor(
        async () => {
          const response = await fetch(`http://127.0.0.1:${port}/vault/${vault.address}/snapshot`)
          expect(await response.json()).toMatchObject({ vault: vault.address, valueUsd: chainId / 1e6 })
        },
        { timeout: patienceMilliseconds / 4, interval: 200 },
      )
      const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: `{ vault(address: "${vault.address}") { chainId } }` }),
      })
      expect(await response.json()).toMatchObject({ data: { vault: { chainId } } })
    }
    gateway.kill('SIGTERM')
    await gateway.ended
  })

  test('are refused where they share the address of a vault', async () => {
    const [one, other] = places as [Place, Place]
    const files = [await fileOf(one, one.vault), await fileOf(other, one.vault)] as const
    const gateway = await serve(...files)
    const { status, stderr } = await gateway.ended
    expect(status).toBe(2)
    expect(stderr).toContain(
      `${files[1]} can't be used:\n  vaults[0].address ${one.vault.address} is in ${files[0]} (chain 31337) and here (chain 31338)`,
    )
  })
})
