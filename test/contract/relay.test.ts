import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import {
  type ConcreteRequest,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getSingularSelector,
  Network,
  type ReaderFragment,
  RecordSource,
  Store,
  type Variables,
} from 'relay-runtime'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { gatewayOn } from '../support/gateway.ts'
import { serverOf, type TestServer } from '../support/server.ts'
import { currentPrices, marked, type Portfolio, twinFacts, twinPositions, twins } from '../support/twin-vaults.ts'
import { apply, event, midnight } from '../support/world.ts'

const root = path.resolve(import.meta.dirname, '../..')
const compiler = createRequire(import.meta.url).resolve('relay-compiler/cli.js')

/** Documents of a front end: a list, a refetchable object, and a connection with pagination. */
const source = `
graphql\`query AppPortfolioQuery {
  vaults(first: 10, orderBy: { field: ADDRESS, direction: ASC }) {
    nodes { id address strategy { id name } positions { id positionId range { current } ...App_position } ...App_events }
  }
}\`
graphql\`fragment App_position on Position @refetchable(queryName: "AppPositionQuery") { inRange range { current } }\`
graphql\`fragment App_events on Vault @refetchable(queryName: "AppEventsQuery")
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" }) {
  events(first: $count, after: $cursor) @connection(key: "App_events") { edges { node { id type amountUsd } } }
}\`
graphql\`query AppObjectsQuery($ids: [ID!]!) { nodes(ids: $ids) { id ... on Position { positionId } ... on LedgerRow { amountUsd } } }\`
`

let folder: string
let database: TestDatabase
let server: TestServer

/** Compiles documents with Relay's compiler and schema.graphql. */
async function compile(text: string): Promise<void> {
  await mkdir(path.join(folder, 'src'), { recursive: true })
  await copyFile(path.join(root, 'schema.graphql'), path.join(folder, 'schema.graphql'))
  await writeFile(path.join(folder, 'src/App.js'), text)
  const config = {
    src: './src',
    schema: './schema.graphql',
    language: 'javascript',
    artifactDirectory: './artifacts',
    eagerEsModules: false,
  }
  await mkdir(path.join(folder, 'artifacts'), { recursive: true })
  await writeFile(path.join(folder, 'relay.config.json'), JSON.stringify(config))
  await promisify(execFile)(process.execPath, [compiler, 'relay.config.json'], { cwd: folder })
}

/** Loads an artifact of the compiler. */
function artifact(name: string): unknown {
  return createRequire(path.join(folder, 'artifacts/index.js'))(`./${name}.graphql.js`)
}

const requestOf = (name: string): ConcreteRequest => artifact(name) as ConcreteRequest

/** Creates an environment with an empty store. */
function environment(): Environment {
  const network = Network.create(async ({ text }, variables) => {
    const response = await fetch(`${server.origin}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: text, variables }),
    })
    return (await response.json()) as never
  })
  return new Environment({ network, store: new Store(new RecordSource()) })
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'relay-'))
  await compile(source)
  database = await emptyDatabase()
  const later = [1, 2].map((second) =>
    event(twins[0], midnight + 40 + second, { type: 'fee', amountUsd: `7.${String(second)}` }),
  )
  await apply(database, [...twinFacts, ...later])
  server = await serverOf(gatewayOn(database).app)
})

afterAll(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

/** Reads a fragment of an object from the store. */
function read(relay: Environment, fragment: string, reference: unknown): unknown {
  return relay.lookup(getSingularSelector(artifact(fragment) as ReaderFragment, reference)).data
}

/** Sends a query, and stores its response. */
async function load(relay: Environment, name: string, variables: Variables = {}): Promise<unknown> {
  return fetchQuery(relay, requestOf(name), variables).toPromise()
}

/** Reads a query from the store only. */
function readFromStore(relay: Environment, name: string, variables: Variables = {}): unknown {
  const { data, isMissingData } = relay.lookup(createOperationDescriptor(requestOf(name), variables).fragment)
  expect(isMissingData).toBe(false)
  return data
}

describe('a front end that Relay compiles by schema.graphql', () => {
  test('stores both positions of two vaults that share a raw identifier', async () => {
    const relay = environment()
    expect(currentPrices((await load(relay, 'AppPortfolioQuery')) as Portfolio)).toEqual([95, 105])
    expect(currentPrices(readFromStore(relay, 'AppPortfolioQuery') as Portfolio)).toEqual([95, 105])
    const records = relay.getStore().getSource()
    for (const id of twinPositions) expect(records.get(id)).toMatchObject({ __typename: 'Position', positionId: '1' })
  })

  test('refetches one position by its id, and keeps the other one', async () => {
    const relay = environment()
    await load(relay, 'AppPortfolioQuery')
    const [id] = twinPositions
    await apply(database, [marked(twins[0], midnight + 60, '120')])
    const { node } = (await load(relay, 'AppPositionQuery', { id })) as { node: unknown }
    expect(read(relay, 'App_position', node)).toEqual({ id, inRange: false, range: { current: 120 } })
    expect(currentPrices(readFromStore(relay, 'AppPortfolioQuery') as Portfolio)).toEqual([120, 105])
  })

  test('merges the pages of a connection, which it fetches by the id of the vault', async () => {
    const relay = environment()
    const { vaults } = (await load(relay, 'AppPortfolioQuery')) as { vaults: { nodes: readonly unknown[] } }
    interface Events {
      readonly events: { readonly edges: readonly { readonly node: { readonly id: string } }[] }
    }
    const rows = (): string[] => {
      const { events } = read(relay, 'App_events', vaults.nodes[0]) as Events
      return events.edges.map(({ node }) => node.id)
    }
    expect(rows()).toHaveLength(2)
    const [newest] = rows()
    for (const loaded of [4, 4]) {
      const { cursor } = lastPage(relay)
      await load(relay, 'AppEventsQuery', { id: twins[0], count: 2, cursor })
      expect(rows()).toHaveLength(loaded)
    }
    expect(rows()[0]).toBe(newest)
    expect(new Set(rows()).size).toBe(4)
  })

  test('fetches objects of several types by their ids', async () => {
    const ids = ['one', twins[0], twinPositions[1], 'unknown']
    const { nodes } = (await load(environment(), 'AppObjectsQuery', { ids })) as { nodes: unknown[] }
    expect(nodes).toMatchObject([{ id: 'one' }, { id: twins[0] }, { id: twinPositions[1], positionId: '1' }, null])
  })
})

/** Returns the end of the pages of the first vault's events in the store. */
function lastPage(relay: Environment): { cursor: string } {
  const connection = relay.getStore().getSource().get(`client:${twins[0]}:__App_events_connection:pageInfo`)
  return { cursor: connection?.['endCursor'] as string }
}

describe("Relay's compiler", () => {
  test('rejects a refetchable fragment on a type without an id', async () => {
    const broken = 'graphql`fragment App_pool on Pool @refetchable(queryName: "AppPoolQuery") { a }`'
    await expect(compile(broken)).rejects.toThrow(/Pool/)
  })
})
