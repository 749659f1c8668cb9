import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readChainConfig } from '../../src/chain/config.ts'
import { dumpReadModel } from '../support/dump.ts'
import { type Home, prepareHomes } from '../support/home.ts'
import { commandLine, type Running } from '../support/process.ts'
import { describeOnChain, patienceMilliseconds, startChain, type TestChain } from './support/anvil.ts'
import { usdc } from './support/amounts.ts'
import { localExample, readmeExample } from './support/example.ts'
import { openVault, type Operator } from './support/operator.ts'
import { deployProtocol, type Protocol } from './support/protocol.ts'
import { startProxy } from './support/proxy.ts'
import { type ChainJson, linesOf } from './support/reading.ts'

const homes = prepareHomes()
const { start, run } = commandLine()
const root = path.resolve(import.meta.dirname, '../..')

describe('a chain.json', () => {
  test("accepts the README's example", () => {
    expect(readChainConfig('chain.json', JSON.stringify(readmeExample()))).toMatchObject({ chainId: 1 })
  })

  test('that is wrong ends the command with 2, and every problem', async () => {
    const file = path.join(homes.folder, 'wrong.json')
    await writeFile(file, JSON.stringify({ ...readmeExample(), chainId: 'one', markEveryBlocks: 0, speed: 'high' }))
    for (const args of [
      ['chain', file],
      ['serve', '--chain', file],
    ]) {
      const { status, stdout, stderr } = await run(args, { DATA_DIR: path.join(homes.folder, 'none') })
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
      expect(stderr).toBe(
        `${file} can't be used:\n  chainId is "one", not of type number\n  markEveryBlocks is 0, less than 1\n` +
          '  it has "speed", which is no key of it\n',
      )
    }
  })

  test('that does not exist ends the command with 2', async () => {
    const { status, stderr } = await run(['chain', 'none.json'], {})
    expect(status).toBe(2)
    expect(stderr).toContain("none.json can't be used:\n  can't be read: ENOENT")
  })
})

describeOnChain('the command line on a chain', () => {
  let chain: TestChain
  let protocol: Protocol
  let vault: Operator
  let json: ChainJson
  let file: string
  let alice: Address

  beforeAll(async () => {
    chain = await startChain()
    protocol = await deployProtocol(chain)
    vault = await openVault(chain, protocol, protocol.usdc)
    json = { ...localExample(chain.url, protocol, vault), markEveryBlocks: 10, finality: 3 }
    file = path.join(homes.folder, 'chain.json')
    await writeFile(file, JSON.stringify(json))
    ;[, , alice] = chain.accounts as [Address, Address, Address]
    await deposits(5)
  }, patienceMilliseconds)
  afterAll(() => chain.stop())

  /** Number of deposits so far. */
  let made = 0
  async function deposits(count: number): Promise<void> {
    made += count
    for (let index = 0; index < count; index++) await chain.block(vault.deposit(alice, usdc(100 + index)))
    await chain.mine(4)
  }

  async function serving(
    home: Home,
    chainFile = file,
  ): Promise<{ gateway: Running; get: (path: string) => Promise<Response> }> {
    const gateway = start(['serve', '--chain', chainFile], { PORT: '0', ...home.env })
    const [, port = ''] = await gateway.says(/GraphiQL {2}http:\/\/localhost:(\d+)\//)
    return { gateway, get: (urlPath) => fetch(`http://127.0.0.1:${port}${urlPath}`) }
  }

  const eventually = (check: () => Promise<void>): Promise<void> =>
    vi.waitFor(check, { timeout: patienceMilliseconds / 2, interval: 50 })

  async function events(get: (path: string) => Promise<Response>): Promise<unknown[]> {
    return (await (await get(`/vault/${vault.address}/events?limit=1000`)).json()) as unknown[]
  }

  test("writes the facts of the README's example, which can be applied, and nothing else", async () => {
    const npm = ['run', '-s', 'chain', '--', file]
    const { stdout, stderr } = await promisify(execFile)('npm', npm, { cwd: root })
    expect(stdout.split('\n').slice(0, -1)).toEqual(await linesOf(json))
    expect(stderr.replace(/npm warn .*\n/g, '')).toBe('')

    const home = await homes.create()
    expect(await run(['ingest', '-'], home.env, stdout)).toMatchObject({ status: 0 })
    const replayed = await dumpOf(home)
    const served = await homes.create()
    const { gateway, get } = await serving(served)
    await eventually(async () => expect(await events(get)).toHaveLength(5))
    await eventually(async () =>
      expect(((await (await get(`/vault/${vault.address}/snapshot`)).json()) as { updatedAt: number }).updatedAt).toBe(
        newestTs(stdout),
      ),
    )
    gateway.kill('SIGTERM')
    expect((await gateway.ended).status).toBe(0)
    expect(await dumpOf(served)).toEqual(replayed)
  })

  test('continues as the chain grows, and after a kill', async () => {
    const home = await homes.create()
    const first = await serving(home)
    await eventually(async () => expect(await events(first.get)).toHaveLength(5))
    await deposits(2)
    await eventually(async () => expect(await events(first.get)).toHaveLength(7))
    first.gateway.kill('SIGKILL')
    await first.gateway.ended
    await deposits(3)
    const second = await serving(home)
    await eventually(async () => expect(await events(second.get)).toHaveLength(10))
    expect((await second.get('/ready')).status).toBe(200)
  })

  test('is not ready while its node refuses access, and ready again once it answers', async () => {
    let isRefused = true
    const proxy = await startProxy(chain.url, (_, pass) =>
      isRefused ? Promise.resolve({ status: 401, body: '{"error":"no such key"}' }) : pass(),
    )
    const home = await homes.create()
    const other = path.join(homes.folder, 'refused.json')
    const secret = 'a-secret-key-of-20-characters'
    await writeFile(
      other,
      JSON.stringify({ ...json, rpc: [{ url: `${proxy.url}/${secret}`, requestsPerSecond: 1_000 }] }),
    )
    const { gateway, get } = await serving(home, other)
    expect((await get('/ready')).status).toBe(200)
    await eventually(async () => expect((await get('/ready')).status).toBe(503))
    expect(await (await get('/ready')).json()).toMatchObject({
      detail: "The feed waits, since its chain can't be read: a node refuses access. The log says what to do.",
    })
    await gateway.says(
      /The chain can't be read: the node \S+ refuses access: it answers with HTTP 401: .*Check the key/,
    )
    isRefused = false
    await eventually(async () => expect((await get('/ready')).status).toBe(200))
    await eventually(async () => expect(await events(get)).toHaveLength(made))
    expect(gateway.said()).not.toContain(secret)
    await proxy.close()
  })

  test('ends the command with 1 where its node refuses access, after a minute', async () => {
    const secret = 'a-secret-key-of-20-characters'
    const proxy = await startProxy(chain.url, () => Promise.resolve({ status: 403, body: `no ${secret}` }))
    const other = path.join(homes.folder, 'forbidden.json')
    await writeFile(other, JSON.stringify({ ...json, rpc: [{ url: `${proxy.url}/${secret}` }] }))
    const { status, stdout, stderr } = await run(['chain', other], {})
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(
      /\nThe chain couldn't be read for 6\d s: the node \S+ refuses access: .*HTTP 403: no \[hidden\]\. /,
    )
    expect(stderr).not.toContain(secret)
    await proxy.close()
  })

  test('continues without an address that is no vault, reports it on all interfaces, and is degraded', async () => {
    const none = { ...(json['vaults'] as object[])[0], address: protocol.manager }
    const mixed = path.join(homes.folder, 'mixed.json')
    await writeFile(mixed, JSON.stringify({ ...json, vaults: [none, ...(json['vaults'] as object[])] }))
    const reason = `${protocol.manager} is there before its firstBlock, already at block ${vault.firstBlock - 1}`
    const { status, stdout, stderr } = await run(['chain', mixed], {})
    expect({ status, facts: stdout.trimEnd().split('\n') }).toEqual({ status: 1, facts: await linesOf(json) })
    expect(stderr.split(reason)).toHaveLength(3)
    expect(stderr).toContain(`Vaults were set aside, and their facts are left out:\n  ${reason}\n`)

    const checked = await run(['chain', 'check', mixed], {})
    expect(checked).toMatchObject({ status: 1, stderr: '' })
    expect(checked.stdout).toContain(`  adapter         none fits\n  missing         ${reason}\n`)
    expect(checked.stdout).toMatch(new RegExp(`${vault.address} at block \\d+\n  adapter         ERC-4626, `))
    expect(await run(['chain', 'check', file], {})).toMatchObject({ status: 0, stderr: '' })

    const { gateway, get } = await serving(await homes.create(), mixed)
    await eventually(async () => expect(await events(get)).toHaveLength(made))
    const ready = await get('/ready')
    expect({ status: ready.status, body: await ready.json() }).toMatchObject({
      status: 200,
      body: { status: 'degraded', reasons: [`A vault is set aside: ${reason}.`] },
    })
    const meta = await get(`/graphql?query=${encodeURIComponent('{ _meta { setAside { address reason block } } }')}`)
    expect(await meta.json()).toMatchObject({
      data: { _meta: { setAside: [{ address: protocol.manager, reason, block: vault.firstBlock }] } },
    })
    expect(await (await get('/metrics')).text()).toMatch(/^vault_gateway_vaults_set_aside 1$/m)
    expect(gateway.said().split(reason)).toHaveLength(2)
  })

  test("reports where npm's banner is among its facts", async () => {
    const { stdout, stderr } = await promisify(execFile)('npm', ['run', 'chain', '--', file], { cwd: root })
    expect(stdout).toContain('> vault-gateway')
    expect(stderr).toContain('npm run -s chain')
  })

  test.each([
    ['before the newest final block', ['chain'], 1],
    ['of a chain that it follows', ['chain', '--follow'], 0],
    ['during a check', ['chain', 'check'], 1],
  ])(
    'a stop %s ends the command at once, and its status tells whether it is complete',
    async (_, command, expected) => {
      let ask: () => void = () => undefined
      const isAsked = new Promise<void>((resolve) => (ask = resolve))
      const proxy = await startProxy(chain.url, ({ method }, pass) => {
        if (method !== 'eth_getLogs' && method !== 'eth_call') return pass()
        ask()
        return new Promise(() => undefined)
      })
      const other = path.join(homes.folder, 'silent.json')
      await writeFile(other, JSON.stringify({ ...json, rpc: [{ url: proxy.url, requestsPerSecond: 1_000 }] }))
      const writing = start([...command, other], {})
      await isAsked
      writing.kill('SIGTERM')
      const { status, stderr } = await writing.ended
      expect({ status, stderr }).toEqual({
        status: expected,
        stderr: expected === 0 ? '' : 'Stopped before the command was complete\n',
      })
      await proxy.close()
    },
  )

  test('a stop sends no more requests that wait for the rate limit of a node', async () => {
    let ask: () => void = () => undefined
    const isAsked = new Promise<void>((resolve) => (ask = resolve))
    const proxy = await startProxy(chain.url, ({ method }, pass) => {
      if (method === 'eth_getCode') ask()
      return pass()
    })
    const limited = path.join(homes.folder, 'limited.json')
    const slow = { rpc: [{ url: proxy.url, requestsPerSecond: 1 }], otherPositionManagers: chain.accounts.slice(0, 4) }
    await writeFile(limited, JSON.stringify({ ...json, ...slow }))
    const writing = start(['chain', '--follow', limited], {})
    await isAsked
    writing.kill('SIGTERM')
    proxy.takeCounts()
    expect(await writing.ended).toMatchObject({ status: 0 })
    const sent = Object.values(proxy.takeCounts()).reduce((sum, count) => sum + count, 0)
    expect(sent).toBeLessThanOrEqual(1)
    await proxy.close()
  })

  test('ends without an error where the reader of its facts has closed the pipe', async () => {
    const writing = start(['chain', '--follow', file], {})
    await writing.says(/"kind":"mark"/)
    writing.stopReading()
    await deposits(3)
    expect(await writing.ended).toMatchObject({ status: 0, stderr: '' })
  })

  test('reports a reorganisation deeper than the finality, and is not ready then', async () => {
    await deposits(3)
    const home = await homes.create()
    const { gateway, get } = await serving(home)
    await eventually(async () => expect(await events(get)).toHaveLength(made))
    expect((await get('/ready')).status).toBe(200)
    await chain.request({ method: 'anvil_reorg', params: [9, []] })
    await chain.request({ method: 'anvil_dropAllTransactions' })
    await chain.mine(3)
    await eventually(async () => expect((await get('/ready')).status).toBe(503))
    const { detail } = (await (await get('/ready')).json()) as { detail: string }
    expect(detail).toMatch(
      /^The feed is stopped\. The chain was reorganised deeper than its finality: block \d+ was read/,
    )
    await gateway.says(/The feed is stopped: The chain was reorganised deeper/)
    expect(await events(get)).toHaveLength(made)
  })
})

async function dumpOf(home: Home) {
  const database = await home.open()
  try {
    return await dumpReadModel(database)
  } finally {
    await database.close()
  }
}

function newestTs(feed: string): number {
  const [last = ''] = feed.trimEnd().split('\n').slice(-1)
  return (JSON.parse(last) as { ts: number }).ts
}
