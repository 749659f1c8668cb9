import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import { parse, validate } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { readChainConfig } from '../../src/chain/config.ts'
import { eventTypes } from '../../src/domain/ledger.ts'
import { demoFacts } from '../../src/feed/demo/demo.ts'
import { schema } from '../../src/graphql/schema/schema.ts'
import { routes } from '../../src/rest/routes.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { apply } from '../support/world.ts'
import { type Block, codeIn, readmeOf, readmes, root } from './readmes.ts'

/** End of the demo world in the READMEs, in Unix seconds; with another one only times and blocks differ. */
const readmeTime = 1_767_225_600

const packageJson = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}

/** Kinds of code blocks, each of which is executed or checked below. */
type Kind = 'curl' | 'query' | 'answer' | 'feed' | 'command' | 'counts' | 'chain' | 'program' | 'page'

/** A code block with its kind. */
interface Example extends Block {
  /** Null for a block that no test checks. */
  readonly kind: Kind | null
}

const examples: readonly Example[] = readmes.flatMap(({ blocks }) =>
  blocks.map((block, index) => ({ ...block, kind: kindOf(block, blocks[index - 1]) })),
)
const curls = withAnswers('curl')
const queries = withAnswers('query')
const commands = examplesOf('command').flatMap(({ text }) => text.trim().split('\n'))
const { text: feed = '' } = examplesOf('feed')[0] ?? {}

describe('the READMEs', () => {
  let gateway: TestGateway

  beforeAll(async () => {
    const database = await emptyDatabase()
    await apply(database, demoFacts(readmeTime))
    gateway = gatewayOn(database)
  })

  test('have no code block that is not executed or checked', () => {
    expect(examples.filter(({ kind }) => kind === null)).toEqual([])
    expect(new Set(examples.map(({ kind }) => kind)).size).toBe(9)
  })

  test('request each of the six paths', () => {
    const paths = curls.map(([, command]) => /4000([^?"]*)/.exec(command)?.[1]?.replace(/0x\w{40}/, ':address'))
    expect(paths.sort()).toEqual(routes.map((route) => route.path).sort())
  })

  test.each(curls)('%s has the correct answer to %s', async (_, command, answer) => {
    const address = /^curl -s "?http:\/\/localhost:4000([^"]*)"?$/.exec(command)?.[1] ?? ''
    const response = await gateway.get(address)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual(answer)
  })

  test.each(queries)('%s has the correct answer to %s', async (_, query, answer) => {
    expect(await gateway.query(query)).toEqual(answer)
  })

  test('have only valid GraphQL in code spans', () => {
    const inline = readmes.flatMap(({ prose }) => codeIn(prose)).filter((code) => /^(\{|_meta \{)/.test(code))
    expect(inline.length).toBeGreaterThan(1)
    for (const code of inline) {
      expect(validate(schema, parse(code.startsWith('{') ? code : `{ ${code} }`)), code).toEqual([])
    }
  })

  test('name every event type', () => {
    const { prose } = readmeOf('src/rest')
    for (const type of eventTypes) expect(prose).toContain(type)
  })

  test('use only npm scripts that exist', () => {
    const inline = readmes.flatMap(({ prose }) => codeIn(prose)).filter((code) => /(^| )npm /.test(code))
    const scripts = [...commands, ...inline].flatMap((command) =>
      Array.from(command.matchAll(/npm (?:run )?(?:-s )?(?!ci\b)([\w:]+)/g), ([, script = '']) => script),
    )
    expect(scripts).toEqual(expect.arrayContaining(['start', 'test', 'ingest', 'chain', 'bench', 'reliability']))
    for (const script of scripts) expect(Object.keys(packageJson.scripts)).toContain(script)
  })

  test('have a valid chain.json', () => {
    const [chain, ...others] = examplesOf('chain')
    expect(others).toEqual([])
    expect(readChainConfig('chain.json', chain?.text ?? '').vaults).toHaveLength(1)
  })

  test.each(examplesOf('program').map(({ readme, text }) => [readme, text]))(
    '%s has a program that succeeds',
    (readme, text) => runProgram(readme, text),
  )

  test('have a page that follows events, and resumes after the last one when it is refused', () => {
    const [page, ...others] = examplesOf('page')
    expect(others).toEqual([])
    const [streams, results]: [StubbedStream[], unknown[]] = [[], []]
    class EventSource extends StubbedStream {
      static readonly CLOSED = 2
      constructor(url: string) {
        super(url)
        streams.push(this)
      }
    }
    const callImmediately = (callback: (after: string) => void, _: number, after: string): void => callback(after)
    const globals = { EventSource, setTimeout: callImmediately, show: (row: unknown) => results.push(row) }
    runInNewContext(`${page?.text ?? ''}follow('7.1')`, { ...globals, readLedgersAgain: () => results.push('again') })
    streams[0]?.send('event', { lastEventId: '8.3', data: '{"id":"a"}' })
    streams[0]?.send('error', {})
    expect(streams.map(({ url }) => url)).toEqual(['/live/events?after=7.1'])
    streams[0]?.refuse(EventSource.CLOSED)
    streams[1]?.send('reset', { lastEventId: '2.9' })
    streams[1]?.refuse(EventSource.CLOSED)
    expect(streams.slice(1).map(({ url }) => url)).toEqual(['/live/events?after=8.3', '/live/events?after=2.9'])
    expect(results).toEqual([{ id: 'a' }, 'again'])
  })

  test('have programs that fail if an assertion is wrong', async () => {
    const [{ readme, text } = { readme: '', text: '' }] = examplesOf('program')
    await expect(runProgram(readme, text.replace("'150.25'", "'150.26'"))).rejects.toThrow('150.26')
  })
})

test("the root README's feed is applied by its command, with the documented result", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'readme-'))
  const file = path.join(folder, 'feed.ndjson')
  await writeFile(file, feed)
  const command = commands.find((text) => text.startsWith('npm run ingest'))?.replace('feed.ndjson', file) ?? ''
  const [program = '', ...args] = command.split(' ')
  const env = { ...process.env, DATA_DIR: path.join(folder, 'data'), DATABASE_URL: '' }
  const { stderr } = await promisify(execFile)(program, args, { cwd: root, env })
  expect(examplesOf('counts')).toHaveLength(1)
  expect(stderr).toContain(examplesOf('counts')[0]?.text.trim())
  await rm(folder, { recursive: true })

  const database = await emptyDatabase()
  await apply(database, feed.trim().split('\n'))
  const address = '0x52908400098527886E0F7030069857D2E4169EE7'
  const snapshot = await (await gatewayOn(database).get(`/vault/${address}/snapshot`)).json()
  expect(snapshot).toMatchObject({ netUsd: 150.25, marketDeltaUsd: 100, strategyDeltaUsd: 50.25 })
})

/** A stub of EventSource, whose events a test sends. */
class StubbedStream {
  readyState = 1
  readonly #listeners = new Map<string, (event: object) => void>()
  constructor(readonly url: string) {}

  addEventListener(type: string, listener: (event: object) => void): void {
    this.#listeners.set(type, listener)
  }

  send(type: string, event: object): void {
    this.#listeners.get(type)?.(event)
  }

  refuse(readyState: number): void {
    this.readyState = readyState
    this.send('error', {})
  }
}

/** Returns the kind of a code block, by its text and the block before. */
function kindOf({ language, text }: Block, before: Block | undefined): Kind | null {
  const isAnswer = before?.language === 'graphql' || before?.text.startsWith('curl') === true
  switch (language) {
    case 'sh':
      return text.startsWith('curl') ? 'curl' : 'command'
    case 'graphql':
      return 'query'
    case 'json':
      return isAnswer ? 'answer' : text.includes('"chainId"') ? 'chain' : null
    case 'ndjson':
      return 'feed'
    case 'text':
      return before?.text.startsWith('npm run ingest') === true ? 'counts' : null
    case 'ts':
      return 'program'
    case 'js':
      return 'page'
    default:
      return null
  }
}

function examplesOf(kind: Kind): Example[] {
  return examples.filter((example) => example.kind === kind)
}

/** Returns requests with the JSON in the block after each. */
function withAnswers(kind: 'curl' | 'query'): [readme: string, request: string, answer: unknown][] {
  return examplesOf(kind).map((example) => {
    const answer = examples[examples.indexOf(example) + 1]
    if (answer?.kind !== 'answer') throw new Error(`${example.readme} has no answer to ${example.text}`)
    return [example.readme, example.text.trim(), JSON.parse(answer.text) as unknown]
  })
}

/** Runs a program whose imports are relative to its README. */
async function runProgram(readme: string, text: string): Promise<void> {
  const base = pathToFileURL(path.join(root, readme))
  const absolute = text.replaceAll(/(?<=from ')\.[^']*/g, (specifier) => new URL(specifier, base).href)
  const folder = await mkdtemp(path.join(tmpdir(), 'readme-'))
  const file = path.join(folder, 'example.mts')
  await writeFile(file, absolute)
  try {
    await promisify(execFile)(process.execPath, ['--import', 'tsx', file], { cwd: root })
  } finally {
    await rm(folder, { recursive: true })
  }
}
