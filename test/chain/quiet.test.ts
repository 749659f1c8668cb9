import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { feedText } from '../support/feeds.ts'
import { prepareHomes } from '../support/home.ts'
import { commandLine, type Running } from '../support/process.ts'
import { strategy } from '../support/world.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { chainJson } from './support/reading.ts'

const { start } = commandLine()
const homes = prepareHomes()
const factOfFile = 1_700_000_000

interface Feed {
  readonly name: string
  readonly line: number
  readonly newestFactAt: number
  readonly readUntil: number | null
  readonly block: { readonly number: number; readonly hash: string; readonly timestamp: number } | null
}

interface Meta {
  readonly version: string
  readonly newestFactAt: number
  readonly ageSeconds: number
  readonly feeds: readonly [file: Feed, chain: Feed]
}

describeOnChain('feeds that bring no facts', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let env: Readonly<Record<string, string>>
  let args: readonly string[]
  const finality = 2

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    const [, , alice] = chain.accounts as [Address, Address, Address]
    await chain.block(vault.deposit(alice, 5_000_000n))
    await chain.mine(finality + 2)
    const [chainFile, feed] = ['quiet.json', 'quiet.ndjson'].map((name) => path.join(homes.folder, name)) as [
      string,
      string,
    ]
    const vaults = [{ address: vault.address, firstBlock: vault.firstBlock }]
    const json = chainJson(chain.url, protocol, vaults, { finality, markEveryBlocks: 1_000_000 })
    await writeFile(chainFile, JSON.stringify(json))
    await writeFile(feed, feedText([strategy('of the file', factOfFile)]))
    args = ['serve', '--chain', chainFile, '--feed', feed]
    const home = await homes.createInFolder()
    env = { ...home.env, DEMO: '0', PORT: '0' }
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  async function serving(): Promise<{ gateway: Running; get: (path: string, etag?: string) => Promise<Response> }> {
    const gateway = start(args, env)
    const [, port = ''] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
    return {
      gateway,
      get: (urlPath, etag) =>
        fetch(`http://127.0.0.1:${port}${urlPath}`, { headers: etag === undefined ? {} : { 'if-none-match': etag } }),
    }
  }

  const query = encodeURIComponent(
    '{ _meta { version newestFactAt ageSeconds feeds { name line newestFactAt readUntil block { number hash timestamp } } } }',
  )

  async function metaOf(get: (path: string) => Promise<Response>): Promise<Meta> {
    return ((await (await get(`/graphql?query=${query}`)).json()) as { data: { _meta: Meta } }).data._meta
  }

  /** Returns the newest block with a final successor. */
  async function newestRead() {
    const { number, hash, timestamp } = await chain.client.getBlock({
      blockNumber: BigInt((await chain.head()) - finality - 1),
    })
    return { number: Number(number), hash, timestamp: Number(timestamp) }
  }

  async function readUpTo(get: (path: string) => Promise<Response>): Promise<Meta> {
    const block = await newestRead()
    let meta = {} as Meta
    await vi.waitFor(
      async () => {
        meta = await metaOf(get)
        expect(meta.feeds).toMatchObject([
          { readUntil: expect.any(Number) as number },
          { readUntil: block.timestamp, block },
        ])
      },
      { timeout: patienceMilliseconds / 4, interval: 200 },
    )
    return meta
  }

  test('report the time up to which they were read, while the data are unchanged', async () => {
    const { gateway, get } = await serving()
    const before = await readUpTo(get)
    const [ofFile, ofChain] = before.feeds
    const snapshot = await get(`/vault/${vault.address}/snapshot`)
    const etag = snapshot.headers.get('etag') ?? ''
    const secondsBefore = Math.floor(Date.now() / 1_000)
    // The first of them are read as a range.
    await chain.mine(100)
    const after = await readUpTo(get)
    await vi.waitFor(async () => expect((await metaOf(get)).feeds[0].readUntil).toBeGreaterThan(secondsBefore), {
      timeout: patienceMilliseconds / 4,
      interval: 200,
    })
    expect(after.feeds[1].readUntil).toBeGreaterThanOrEqual((ofChain.readUntil ?? Infinity) + 100 * 12)
    expect(after.feeds[0]).toMatchObject({ name: 'quiet.ndjson', line: 1, newestFactAt: factOfFile, block: null })
    expect(ofFile.readUntil).toBeLessThanOrEqual(secondsBefore)
    expect(after).toMatchObject({ version: before.version, newestFactAt: before.newestFactAt })
    expect([after.feeds[1].line, after.feeds[1].newestFactAt]).toEqual([ofChain.line, before.newestFactAt])
    expect(after.ageSeconds).toBeLessThan(5)

    const again = await get(`/vault/${vault.address}/snapshot`, etag)
    expect(again.status).toBe(304)
    const headers = ['data-version', 'data-time'].map((name) => again.headers.get(name))
    expect(headers).toEqual([before.version, String(before.newestFactAt)])
    expect(Number(again.headers.get('data-age'))).toBeLessThan(5)
    expect((await get('/ready')).status).toBe(200)
    gateway.kill('SIGKILL')
    await gateway.ended
  })

  test('report it after a restart, too', async () => {
    const block = await newestRead()
    const { get } = await serving()
    const { feeds } = await metaOf(get)
    expect(feeds[1]).toMatchObject({ block, readUntil: block.timestamp })
    await chain.mine(3)
    const read = await readUpTo(get)
    expect(read.feeds[1].block?.number).toBe(block.number + 3)
  })
})
