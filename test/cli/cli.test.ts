import { appendFile, chmod, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { BadUsage, readCommand, usage } from '../../src/cli/commands/usage.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { feedText } from '../support/feeds.ts'
import { prepareHomes, type Home } from '../support/home.ts'
import { commandLine, type Environment, type Running } from '../support/process.ts'
import { deposit, mark, midnight, opened, position, strategy, vaultA } from '../support/world.ts'

const homes = prepareHomes()
const { start, run } = commandLine()

const facts = [
  strategy('one'),
  strategy('two'),
  opened(vaultA, 'one'),
  deposit(vaultA, midnight + 10, '100'),
  mark(vaultA, midnight + 20, '101', { positions: [position('p')] }),
]
const nextMark = feedText([mark(vaultA, midnight + 30, '102.5', { positions: [position('p')] })])
const badLine = `${JSON.stringify({ kind: 'trade' })}\n`

let folder: string
let feed: string

beforeEach(async () => {
  folder = await mkdtemp(path.join(homes.folder, 'files-'))
  feed = path.join(folder, 'feed.ndjson')
  await writeFile(feed, feedText(facts))
})

describe('the command line is parsed as', () => {
  test.each([
    [['serve'], { name: 'serve', feed: null, chain: null, skipBad: false }],
    [['serve', '--feed', 'f', '--skip-bad'], { name: 'serve', feed: 'f', chain: null, skipBad: true }],
    [['serve', '--chain', 'c'], { name: 'serve', feed: null, chain: ['c'], skipBad: false }],
    [['serve', '--chain', 'c', '--chain', 'd'], { name: 'serve', feed: null, chain: ['c', 'd'], skipBad: false }],
    [['chain', 'c'], { name: 'chain', file: 'c', follow: false }],
    [['chain', '--follow', 'c'], { name: 'chain', file: 'c', follow: true }],
    [['migrate'], { name: 'migrate' }],
    [['ingest', 'f'], { name: 'ingest', feed: 'f', skipBad: false, jobs: 1 }],
    [['ingest', 'f', '--jobs', '4'], { name: 'ingest', feed: 'f', skipBad: false, jobs: 4 }],
    [['ingest', '--skip-bad', '-'], { name: 'ingest', feed: '-', skipBad: true, jobs: 1 }],
    [['--help'], { name: 'help' }],
    [['serve', '-h'], { name: 'help' }],
  ])('%j', (args, command) => {
    expect(readCommand(args)).toEqual(command)
  })

  test.each([
    [[], 'There is nothing to do'],
    [['dance'], 'There is nothing to do with dance.'],
    [['serve', 'feed'], 'There is nothing to do with feed.'],
    [['migrate', 'now'], 'migrate takes no options.'],
    [['migrate', '--skip-bad'], '--skip-bad is not for migrate.'],
    [['serve', '--skip-bad'], '--skip-bad is for a feed or a chain: name one by --feed or --chain.'],
    [['ingest'], 'Name one feed.'],
    [['ingest', 'a', 'b'], 'Name one feed.'],
    [['ingest', ''], 'An argument is empty, as that of a variable that is not set.'],
    [['serve', '--feed='], 'An argument is empty, as that of a variable that is not set.'],
    [['serve', '--chain', ''], 'An argument is empty, as that of a variable that is not set.'],
    [['ingest', 'a', '--jobs', '0'], '--jobs is "0", not a number from 1 to 64.'],
    [['ingest', 'a', '--jobs', '2.5'], '--jobs is "2.5", not a number from 1 to 64.'],
    [['serve', '--jobs', '2'], '--jobs is not for npm start.'],
    [['ingest', 'a', '--feed', 'b'], '--feed is not for ingest.'],
    [['ingest', 'a', '--follow'], '--follow is not for ingest.'],
    [['serve', '--feed'], '--feed'],
    [['serve', '--follow'], '--follow is not for npm start.'],
    [['chain'], 'Name one chain.json.'],
    [['chain', 'a', 'b'], 'Name one chain.json.'],
    [['chain', 'check', 'a', 'b'], 'Name one chain.json.'],
    [['chain', 'a', '--chain', 'b'], '--chain is not for chain.'],
    [['chain', 'a', '--skip-bad'], '--skip-bad is not for chain.'],
    [['chain', 'check', 'a', '--follow'], '--follow is not for chain check.'],
    [['ingest', 'a', '--fast'], '--fast'],
    [['serve', '--feed', 'a', '--feed=b'], '--feed is given more than once.'],
    [['serve', '--chain', 'a', '--chain', 'a'], '--chain is given more than once.'],
    [['ingest', 'a', '--skip-bad', '--skip-bad'], '--skip-bad is given more than once.'],
  ])('a mistake where it is %j', (args, message) => {
    expect(() => readCommand(args)).toThrow(BadUsage)
    expect(() => readCommand(args)).toThrow(message)
    expect(() => readCommand(args)).toThrow(usage)
  })
})

describe('ingest', () => {
  let home: Home

  beforeEach(async () => {
    home = await homes.create()
  })

  test('ends with 0 and a summary of applied, then of skipped facts', async () => {
    expect(await run(['ingest', feed], home.env)).toEqual({
      status: 0,
      signal: null,
      stdout: '',
      stderr: 'applied          5  (strategy 2, vault 1, event 1, mark 1)\nskipped          0\nrejected         0\n',
    })
    expect(await run(['ingest', feed], home.env)).toMatchObject({
      status: 0,
      stderr: 'applied          0\nskipped          5  (strategy 2, vault 1, event 1, mark 1)\nrejected         0\n',
    })
  })

  test('ends with 1 at a bad fact, with its line and a summary', async () => {
    await appendFile(feed, badLine + nextMark)
    const { status, stderr } = await run(['ingest', feed], home.env)
    expect(status).toBe(1)
    expect(stderr).toBe(
      'applied          5  (strategy 2, vault 1, event 1, mark 1)\nskipped          0\nrejected         1  (unreadable 1)\n' +
        `${feed}, line 6: kind is "trade", which is no kind of fact\n`,
    )
  })

  test('ends with 1 at a fact from the future, and names the clock', async () => {
    await appendFile(feed, feedText([mark(vaultA, 253_402_300_799, '1')]) + nextMark)
    const { status, stderr } = await run(['ingest', feed], home.env)
    expect(status).toBe(1)
    expect(stderr).toMatch(
      /line 6: ts is 253402300799, more than a day \(86400 s\) ahead of this machine's clock, \d{10}: /,
    )
  })

  test('ends with 1 if it set bad facts aside, and prints their file', async () => {
    await appendFile(feed, badLine + nextMark)
    const { status, stderr } = await run(['ingest', '--skip-bad', feed], home.env)
    expect(status).toBe(1)
    expect(stderr).toBe(
      'applied          6  (strategy 2, vault 1, event 1, mark 2)\nskipped          0\nrejected         1  (unreadable 1)\n' +
        `Bad lines are set aside, with their reasons, in ${feed}.rejects.ndjson\n`,
    )
    const [rejected = '', ...rest] = (await readFile(`${feed}.rejects.ndjson`, 'utf8')).split('\n')
    expect(JSON.parse(rejected)).toMatchObject({ line: 6, key: 'kind', text: badLine.trimEnd() })
    expect(rest).toEqual([''])
  })

  test.each<[string, string | Uint8Array]>([
    ['plain', feedText(facts)],
    ['gzipped', gzipSync(feedText(facts))],
  ])('reads standard input where the feed is -, %s', async (_name, input) => {
    const { status, stderr } = await run(['ingest', '-'], home.env, input)
    expect(stderr).toMatch(/^applied {10}5 /)
    expect(status).toBe(0)
  })

  test('ends with 1 and one line if the feed does not exist', async () => {
    const { status, stderr } = await run(['ingest', `${feed}.none`], home.env)
    expect(status).toBe(1)
    expect(stderr).toMatch(/^\S+feed\.ndjson\.none can't be opened: ENOENT[^\n]*\n$/)
  })

  test('ends with 1 on SIGTERM, because the feed may have more, and the next run applies the rest', async () => {
    const demo = feedText(demoFacts(midnight))
    const running = start(['ingest', '-'], home.env)
    // More than the buffer of a pipe: when it is written, the process reads.
    await new Promise((resolve) => running.input.write(demo, resolve))
    running.kill('SIGTERM')
    const { status, stderr } = await running.ended
    expect(stderr).toMatch(/rejected +0\nStopped before the end of the feed: the same command does the rest\n$/)
    expect(status).toBe(1)
    expect(await run(['ingest', '-'], home.env, demo)).toMatchObject({ status: 0 })
  })
})

describe('migrate', () => {
  test('applies missing migrations once, and ends', async () => {
    const env = { DATA_DIR: path.join(folder, 'data') }
    const first = await run(['migrate'], env)
    expect([first.status, first.stdout]).toEqual([0, expect.stringMatching(/^Applied 2026\d+_read_model, .*\.\n$/)])
    expect(await run(['migrate'], env)).toMatchObject({ status: 0, stdout: 'No migration is missing.\n' })
  })

  test('ends with 1 and the reason on failure', async () => {
    const { status, stderr } = await run(['migrate'], { DATABASE_URL: 'postgres://user@127.0.0.1:1/name' })
    expect([status, stderr]).toEqual([1, expect.stringContaining('127.0.0.1:1')])
  })
})

describe('a usage error ends with 2:', () => {
  test('an unknown command, with the usage', async () => {
    expect(await run(['ingest'], {})).toEqual({
      status: 2,
      signal: null,
      stdout: '',
      stderr: `Name one feed.\n\n${usage}\n`,
    })
  })

  test('an invalid configuration, with all of its problems', async () => {
    const { status, stderr } = await run(['serve'], {
      PORT: 'no',
      DEMO: 'yes',
      DATABASE_URL: 'postgres://user:sec#ret@host/name',
      RATE_LIMIT: '5',
    })
    expect(status).toBe(2)
    expect(stderr.trimEnd().split('\n')).toEqual([
      "The configuration can't be used:",
      '  PORT is not a whole number',
      expect.stringMatching(/^ {2}DATABASE_URL in user, password .* # as %23 and @ as %40$/),
      '  DEMO is neither 0 nor 1',
      '  RATE_LIMIT is not requests/seconds, such as 100/60',
    ])
  })
})

describe('serve', () => {
  const listening = async (args: readonly string[], env: Environment): Promise<{ gateway: Running; base: string }> => {
    const gateway = start(['serve', ...args], { PORT: '0', LOG_LEVEL: 'error', ...env })
    const [, base = ''] = await gateway.says(/GraphiQL {2}(http:\/\/localhost:\d+)\/graphql/)
    await gateway.says(/universe\/pairs\n/)
    return { gateway, base }
  }
  const json = async (address: string): Promise<unknown> => (await fetch(address)).json()
  const valueUsd = async (base: string): Promise<unknown> => {
    const snapshot = (await json(`${base}/vault/${vaultA}/snapshot`)) as { valueUsd?: number }
    return snapshot.valueUsd
  }
  const stop = async (gateway: Running): Promise<void> => {
    gateway.kill('SIGTERM')
    expect(await gateway.ended).toMatchObject({ status: 0, signal: null })
  }

  test('fills an empty database, prints its URLs, and ends with 0 on SIGTERM', async () => {
    const { gateway } = await listening([], (await homes.create()).env)
    const [said] = await gateway.says(/GraphiQL.*[^]*$/)
    const [graphiql = '', ...curls] = said.trimEnd().split('\n')
    const page = await fetch(graphiql.replace(/^GraphiQL */, ''), { headers: { accept: 'text/html' } })
    expect(await page.text()).toContain('graphiql.js')
    const [, explorer = ''] = await gateway.says(/Explorer {2}(http:\S+)\n/)
    const html = await (await fetch(explorer, { headers: { accept: 'text/html' } })).text()
    const files = Array.from(html.matchAll(/"(explorer\/[^"]+)"/g), ([, file = '']) => new URL(file, explorer))
    expect(files).toHaveLength(2)
    for (const file of files) expect((await fetch(file)).status).toBe(200)
    expect(
      curls.map((line) => line.replace(/^curl -s http:\/\/localhost:\d+/, '').replace(/0x\w{40}/, 'ADDRESS')),
    ).toEqual([
      '/vault/ADDRESS/snapshot',
      '/vault/ADDRESS/equity',
      '/vault/ADDRESS/events',
      '/strategies',
      '/universe',
      '/universe/pairs',
    ])
    for (const line of curls) {
      const answer = await fetch(line.replace('curl -s ', ''))
      expect(answer.status, line).toBe(200)
      expect(JSON.stringify(await answer.json()).length, line).toBeGreaterThan(100)
    }
    await stop(gateway)
  })

  test('starts with a manifest of operations, and logs those that it refuses', async () => {
    const { env } = await homes.create()
    const manifest = path.join(folder, 'operations.json')
    await writeFile(manifest, JSON.stringify({ known: '{ strategies { id } }', old: '{ strategies { ident } }' }))
    const { gateway, base } = await listening([], {
      DEMO: '0',
      LOG_LEVEL: 'warn',
      PERSISTED_OPERATIONS: manifest,
      ...env,
    })
    const [line] = await gateway.says(/.*Clients will be refused an operation.*/)
    expect(JSON.parse(line)).toMatchObject({ level: 'warn', operationId: 'old' })
    const extensions = '{"persistedQuery":{"version":1,"sha256Hash":"known"}}'
    expect(await json(`${base}/graphql?extensions=${encodeURIComponent(extensions)}`)).toMatchObject({
      data: { strategies: [] },
    })
    expect(gateway.said().match(/Clients will be refused/g)).toHaveLength(1)
    await stop(gateway)
  })

  test('starts empty with DEMO=0, and without the explorer with EXPLORER=0', async () => {
    const { gateway, base } = await listening([], { DEMO: '0', EXPLORER: '0', ...(await homes.create()).env })
    expect(await json(`${base}/strategies`)).toEqual([])
    const page = await fetch(base, { headers: { accept: 'text/html' } })
    expect(await page.text()).not.toContain('explorer/')
    expect(gateway.said()).not.toContain('Explorer')
    await gateway.says(/No vault is known yet\. Once one is: \/vault\/ADDRESS\/snapshot/)
    expect(gateway.said()).not.toContain(':address')
    await stop(gateway)
  })

  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', 'localhost'],
  ])('on HOST=%s with keys greets with an address and a header that serve there', async (HOST, name) => {
    const apiKey = 'a-key-of-one-reader'
    const env = { HOST, API_KEYS: apiKey, PORT: '0', DEMO: '0', LOG_LEVEL: 'error', ...(await homes.create()).env }
    const gateway = start(['serve'], env)
    const curlCommand = /^curl -s -H 'Authorization: (Bearer) YOUR_API_KEY' (http:\S+strategies)$/m
    const [, scheme = '', address = ''] = await gateway.says(curlCommand)
    expect(new URL(address).hostname).toBe(name)
    expect(gateway.said()).not.toContain(apiKey)
    expect((await fetch(address, { headers: { authorization: `${scheme} ${apiKey}` } })).status).toBe(200)
    await stop(gateway)
  })

  test('follows a feed as it grows, and resumes at its position', async () => {
    const { env } = await homes.create()
    const first = await listening(['--feed', path.relative(process.cwd(), feed)], env)
    await expect.poll(() => valueUsd(first.base)).toBe(101)
    await appendFile(feed, nextMark)
    await expect.poll(() => valueUsd(first.base)).toBe(102.5)
    expect(await json(`${first.base}/strategies`)).toHaveLength(2)
    await stop(first.gateway)

    await appendFile(feed, badLine)
    const second = await listening(['--feed', feed], env)
    await second.gateway.says(/The feed is stopped: \S+feed\.ndjson, line 7: kind is \\"trade\\"/)
    expect(await valueUsd(second.base)).toBe(102.5)
    await stop(second.gateway)
  })

  test('ends with 0 on SIGTERM while the feed on its standard input is still open', async () => {
    const { gateway, base } = await listening(['--feed', '-'], (await homes.create()).env)
    gateway.input.write(feedText(facts))
    await expect.poll(() => valueUsd(base)).toBe(101)
    await stop(gateway)
  })

  test('serves without a feed that does not exist, and logs it in one line', async () => {
    const { gateway, base } = await listening(['--feed', `${feed}.none`], (await homes.create()).env)
    await gateway.says(/The feed is stopped: \S+feed\.ndjson\.none can't be opened: ENOENT.*\n/)
    expect(gateway.said()).not.toContain('"err"')
    expect((await fetch(`${base}/ready`)).status).toBe(503)
    expect(await json(`${base}/strategies`)).toEqual([])
    await stop(gateway)
  })

  test('ends with 1 and one line if the port is in use', async () => {
    const { gateway, base } = await listening([], { DEMO: '0', ...(await homes.create()).env })
    const { status, stderr } = await run(['serve'], { PORT: new URL(base).port, ...(await homes.create()).env })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^The gateway can't listen on port \d+: .*EADDRINUSE.* Set PORT to another one, .*\n$/)
    await stop(gateway)
  })

  test.each([
    ['a name that has no address', 'gateway.invalid'],
    ['an address of another machine', '192.0.2.1'],
  ])('ends with 1 and one line that names HOST where that is %s', async (_what, HOST) => {
    const { status, stderr } = await run(['serve'], { ...(await homes.create()).env, PORT: '0', HOST, DEMO: '0' })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^The gateway can't listen on port 0: .* Set HOST to an address of this machine, .*\n$/)
  })
})

describe('an unusable data directory', () => {
  /** Root may write to any folder. */
  const isRoot = process.getuid?.() === 0

  test('that is a file ends with 1 and a remedy, without a stack trace', async () => {
    expect(await run(['serve'], { DATA_DIR: feed })).toMatchObject({
      status: 1,
      stdout: '',
      stderr:
        `The embedded database can't be kept in ${feed}: EEXIST: file already exists, mkdir '${feed}'. ` +
        'Set DATA_DIR to a folder that this user may write to, or to where one can be made.\n',
    })
  })

  test.skipIf(isRoot)('that is not writable ends with 1 and a remedy, too', async () => {
    await chmod(folder, 0o500)
    const { status, stderr } = await run(['ingest', feed], { DATA_DIR: folder })
    await chmod(folder, 0o700)
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(
        /^The embedded database can't be kept in \S+: EACCES: [^\n]* Set DATA_DIR [^\n]*\n$/,
      ) as string,
    })
  })
})

describe('a data directory belongs to one process:', () => {
  test('a second process is rejected with a remedy, and starts after the first was killed', async () => {
    const { dataDir, env } = await homes.createInFolder()
    const link = path.join(folder, 'link')
    await symlink(dataDir, link)
    const first = start(['serve'], { ...env, PORT: '0', DEMO: '0' })
    await first.says(/GraphiQL/)

    const second = await run(['ingest', feed], { DATA_DIR: link })
    expect(second).toEqual({
      status: 1,
      signal: null,
      stdout: '',
      stderr:
        `The embedded database in ${dataDir} is open in another process (process ${first.pid}), and belongs to one at a ` +
        'time. Stop that process, give this one a DATA_DIR of its own, or let both share a PostgreSQL by DATABASE_URL.\n',
    })

    first.kill('SIGKILL')
    expect(await first.ended).toMatchObject({ signal: 'SIGKILL' })
    expect(await run(['ingest', feed], env)).toMatchObject({ status: 0 })
  })
})
