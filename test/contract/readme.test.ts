import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { environmentVariables } from '../../src/config.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { eventTypes } from '../../src/domain/ledger.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { apply } from '../support/world.ts'

/** The time that the demo world of the README's answers ends at; at another one only times and blocks differ. */
const readmeTime = 1_767_225_600

const root = path.resolve(import.meta.dirname, '../..')
const readme = await readFile(path.join(root, 'README.md'), 'utf8')
const packageJson = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}

/** The fenced blocks, in their order. */
const blocks = Array.from(readme.matchAll(/^```(\w+)\n(.*?)^```$/gms), ([, language = '', text = '']) => ({
  language,
  text,
}))
const exampleFeed = blocks.find(({ language }) => language === 'ndjson')?.text ?? ''
const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text.trim())

/** Each question with the JSON that stands below it. */
function answered(
  isQuestion: (block: { language: string; text: string }) => boolean,
): [question: string, answer: unknown][] {
  return blocks.flatMap((block, index) =>
    isQuestion(block) ? [[block.text.trim(), JSON.parse(blocks[index + 1]?.text ?? '')] as [string, unknown]] : [],
  )
}

const curls = answered(({ language, text }) => language === 'sh' && text.startsWith('curl'))
const queries = answered(({ language }) => language === 'graphql')

describe('the README', () => {
  let gateway: TestGateway

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, demoFacts(readmeTime))
    gateway = gatewayOn(database)
  })

  test('asks each of the six paths', () => {
    const paths = curls.map(([command]) => /4000([^?"]*)/.exec(command)?.[1]?.replace(/0x\w{40}/, ':address'))
    expect(paths).toEqual([
      '/vault/:address/snapshot',
      '/vault/:address/equity',
      '/vault/:address/events',
      '/strategies',
      '/universe',
      '/universe/pairs',
    ])
  })

  test.each(curls)('tells what is answered to %s', async (command, answer) => {
    const address = /^curl -s "?http:\/\/localhost:4000([^"]*)"?$/.exec(command)?.[1] ?? ''
    const response = await gateway.get(address)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual(answer)
  })

  test.each(queries)('tells what is answered to %s', async (query, answer) => {
    expect(await gateway.query(query)).toEqual(answer)
  })

  test('names every event type, and every variable of the configuration', () => {
    for (const type of eventTypes) expect(readme).toContain(type)
    const table = Array.from(readme.matchAll(/^\| `([A-Z_]+)` /gm), ([, name]) => name)
    expect(table.sort()).toEqual([...environmentVariables].sort())
  })

  test('maps rooms that are there', () => {
    const rooms = Array.from(readme.matchAll(/^\| `([a-z/]+\/)` /gm), ([, room = '']) => room)
    expect(rooms.length).toBeGreaterThan(5)
    for (const room of rooms) expect(existsSync(path.join(root, room)), room).toBe(true)
  })

  test('uses only commands there are', () => {
    const scripts = commands.flatMap((command) =>
      Array.from(command.matchAll(/npm (?:run )?(?:-s )?(?!ci\b)([\w:]+)/g), ([, script = '']) => script),
    )
    expect(scripts).toEqual(expect.arrayContaining(['start', 'test', 'ingest', 'chain']))
    for (const script of scripts) expect(Object.keys(packageJson.scripts)).toContain(script)
  })
})

test("the README's feed is applied by its command, and gives what it says", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'readme-'))
  const feed = path.join(folder, 'feed.ndjson')
  await writeFile(feed, exampleFeed)
  const command = commands.find((text) => text.startsWith('npm run ingest'))?.replace('feed.ndjson', feed) ?? ''
  const [program = '', ...args] = command.split(' ')
  const env = { ...process.env, DATA_DIR: path.join(folder, 'data'), DATABASE_URL: '' }
  const { stderr } = await promisify(execFile)(program, args, { cwd: root, env })
  expect(stderr).toContain(blocks.find(({ language }) => language === 'text')?.text.trim())
  await rm(folder, { recursive: true })

  const database = await emptyDatabase()
  await apply(database, exampleFeed.trim().split('\n'))
  const address = '0x52908400098527886E0F7030069857D2E4169EE7'
  const snapshot = await (await gatewayOn(database).get(`/vault/${address}/snapshot`)).json()
  expect(snapshot).toMatchObject({ netUsd: 150.25, marketDeltaUsd: 100, strategyDeltaUsd: 50.25 })
})
