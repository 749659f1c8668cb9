import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { environmentVariables, readConfig } from '../../src/config.ts'
import { eventTypes } from '../../src/domain/ledger.ts'
import { vaultStatuses } from '../../src/domain/vault.ts'
import { factKinds, factSchema } from '../../src/feed/fact/fact.ts'
import * as connectionLimits from '../../src/limits/connections.ts'
import * as liveLimits from '../../src/limits/live.ts'
import { assumedLengths } from '../../src/graphql/execution/cost/assumed-lengths.ts'
import * as otherLimits from '../../src/limits.ts'
import { problems } from '../../src/rest/problem.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import {
  anchorsOf,
  codeIn,
  linksOf,
  type Readme,
  readmeOf,
  readmes,
  root,
  type Table,
  tableOf,
  tablesIn,
} from './readmes.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = gatewayOn(await emptyDatabase())
})

/** Folders that must have a README. */
const documentedFolders = [
  '',
  'src',
  'src/chain',
  'src/cli',
  'src/database',
  'src/domain',
  'src/feed',
  'src/graphql',
  'src/http',
  'src/rest',
  'test/bench',
  'test/cluster',
  'test/reliability',
]
const maxRootLines = 200
/** Names of files that users write, or that are generated. */
const externalNames = ['chain.json', '.build/']

test('all documented folders have a README, and that of the root is short', () => {
  expect(readmes.map(({ file }) => file)).toEqual(
    expect.arrayContaining(documentedFolders.map((folder) => readmeOf(folder).file)),
  )
  expect(readmeOf('').text.split('\n').length - 1).toBeLessThanOrEqual(maxRootLines)
})

test('the root README links to every other one', () => {
  const others = readmes.map(({ file }) => file).filter((file) => file !== 'README.md')
  expect(linksOf(readmeOf(''))).toEqual(expect.arrayContaining(others))
})

describe('links and names', () => {
  test.each(readmes.map((readme) => [readme.file, readme] as const))('all links of %s are valid', async (_, readme) => {
    for (const link of linksOf(readme)) expect(await linkProblem(readme, link, gateway), link).toBeNull()
  })

  test.each(readmes.map((readme) => [readme.file, readme] as const))('all files that %s names exist', (_, readme) => {
    for (const name of namesIn(readme)) expect(exists(readme, name), name).toBe(true)
  })

  test('that are wrong are found', async () => {
    const readme = readmeOf('src/http')
    expect(await linkProblem(readme, 'gone.md', gateway)).toBe('does not exist')
    expect(await linkProblem(readme, '../README.md#no-such-heading', gateway)).toBe('has no such heading')
    expect(await linkProblem(readme, 'http://localhost:4000/gone', gateway)).toBe('has status 404')
    expect(exists(readme, 'server/gone.ts')).toBe(false)
    expect(namesIn({ ...readme, prose: 'In `server/gone.ts` and `server/`, by `npm test`.' })).toEqual([
      'server/gone.ts',
      'server/',
    ])
  })
})

const limits = { ...otherLimits, ...connectionLimits, ...liveLimits, assumedLengths }

describe('numbers', () => {
  test('of limits are those of limits.ts', () => {
    expect(limitProblems(readmes)).toEqual([])
  })

  test('of limits are all documented, each once', () => {
    const documented = readmes.flatMap((readme) => documentedLimits(readme)).map(({ name }) => name)
    const all = Object.entries(limits).flatMap(([name, limit]) => namesOf(name, limit))
    expect(all.filter((name) => !documented.includes(name) && !name.startsWith('assumedLengths.'))).toEqual([])
    expect(documented.filter((name, at) => documented.indexOf(name) < at)).toEqual([])
  })

  test('of limits that are wrong are found', () => {
    const readme = readmeOf('src/http')
    const problemsOf = (prose: string): string[] => limitProblems([{ ...readme, prose }])
    expect(problemsOf('| limit | value |\n| --- | --- |\n| `unsentBytes` | 64 MiB |\n')).toEqual([])
    expect(problemsOf('| limit | value |\n| --- | --- |\n| `unsentBytes` | 32 MiB |\n')).toHaveLength(1)
    expect(problemsOf('| limit | value |\n| --- | --- |\n| `noSuchLimit` | 32 |\n')).toHaveLength(1)
    expect(
      problemsOf('| limit | value |\n| --- | --- |\n| `listLimits.events` | 1 to 1,000, default 50 |\n'),
    ).toHaveLength(1)
    expect(problemsOf('A count costs 100 (`readCost`).')).toEqual([])
    expect(problemsOf('A count costs 2 to 200 (`readCost`).')).toHaveLength(1)
  })

  test('of the configuration are the defaults', () => {
    const table = tableOf(readmeOf('src/cli'), 'variable', 'default')
    expect(table.rows.map(([name = '']) => codeIn(name)[0]).sort()).toEqual([...environmentVariables].sort())
    const wrong = defaultsIn(table).filter(([name, value]) => !isDefault(name, value))
    expect(wrong).toEqual([])
    expect(defaultsIn(table).length).toBeGreaterThan(15)
    expect(isDefault('MAX_QUERY_BYTES', '20001')).toBe(false)
    expect(isDefault('DATABASE_CONNECTIONS', '11')).toBe(false)
  })
})

describe('the tables', () => {
  test('of errors have each problem with its status', () => {
    const { rows } = tableOf(readmeOf('src/http'), 'failure', 'REST', 'problem type', 'GraphQL code')
    const types = rows.flatMap(([, rest = '', type = '']) => (type === '' ? [] : [`${type} ${rest.slice(0, 3)}`]))
    const all = Object.entries(problems).map(([code, { status }]) => [typeOf(code), status] as const)
    for (const documented of types) expect(all.map(([type, status]) => `\`${type}\` ${status}`)).toContain(documented)
    const inGraphql = rows.map(([, , , code = '']) => code)
    const missing = Object.entries(problems).filter(
      ([code, { status }]) =>
        !types.includes(`\`${typeOf(code)}\` ${status}`) && !inGraphql.includes(`\`${code}\`, ${status}`),
    )
    expect(missing).toEqual([])
  })

  test('of errors have the status of an operation that did not begin, in both media types', async () => {
    const { rows } = tableOf(readmeOf('src/http'), 'failure', 'REST', 'problem type', 'GraphQL code')
    const persisted = (persistedQuery: object): object => ({ extensions: { persistedQuery } })
    const failures: Readonly<Record<string, object>> = {
      GRAPHQL_PARSE_FAILED: { query: '{' },
      GRAPHQL_VALIDATION_FAILED: { query: '{ nothing }' },
      OPERATION_RESOLUTION_FAILURE: { query: 'query A { __typename }', operationName: 'B' },
      QUERY_OVER_BOUND: { query: `{ __typename }${'#'.repeat(otherLimits.defaultQueryLimits.bytes)}` },
      PERSISTED_QUERY_NOT_SUPPORTED: persisted({ version: 2 }),
      PERSISTED_QUERY_NOT_FOUND: persisted({ version: 1, sha256Hash: 'unknown' }),
    }
    for (const [code, body] of Object.entries(failures)) {
      const statusIn = async (accept: string): Promise<number> => {
        const headers = { accept, 'content-type': 'application/json' }
        const request = { method: 'POST', headers, body: JSON.stringify(body) }
        const response = await gateway.app.fetch(new Request('http://gateway.test/graphql', request))
        expect(await response.text()).toContain(`"${code}"`)
        return response.status
      }
      const statuses = new Set([
        await statusIn('application/graphql-response+json'),
        await statusIn('application/json'),
      ])
      expect(rows.map(([, , , documented]) => documented)).toContain(`\`${code}\`, ${[...statuses].join(' or ')}`)
    }
  })

  test('of facts and events have the keys of each', () => {
    const readme = readmeOf('src/feed')
    const [kinds, events] = [tableOf(readme, 'kind'), tableOf(readme, 'type')]
    expect(kinds.rows.map(([kind = '']) => codeIn(kind)[0]).sort()).toEqual([...factKinds].sort())
    expect(events.rows.map(([type = '']) => codeIn(type)[0]).sort()).toEqual([...eventTypes].sort())
    const [, eventKeys = ''] = kinds.rows.find(([kind]) => kind === '`event`') ?? []
    expect(codeIn(eventKeys)).toEqual(commonEventKeys)
    for (const { name, required, optional } of shapes()) {
      const row = [...kinds.rows, ...events.rows].find(([first = '']) => codeIn(first)[0] === name)
      expect(keysIn(row?.[1] ?? ''), name).toEqual({ required, optional })
    }
  })

  test('of statuses have all of them, in the order of the rule', () => {
    const statuses = tableOf(readmeOf('src/domain'), 'status', 'applies').rows.map(([status = '']) => codeIn(status)[0])
    expect([...new Set(statuses)].sort()).toEqual([...vaultStatuses].sort())
    expect(statuses).toEqual(['suspended', 'exiting', 'planting', 'idle', 'planting', 'attention', 'earning'])
  })

  test('of folders name folders that exist', () => {
    const { rows } = tableOf(readmeOf(''), 'folder', 'contents')
    expect(rows.length).toBeGreaterThan(8)
    for (const [folder = ''] of rows) expect(existsSync(path.join(root, codeIn(folder)[0] ?? '')), folder).toBe(true)
  })
})

/** Returns the problem of a link; null if it is valid. */
async function linkProblem(readme: Readme, link: string, gateway: TestGateway): Promise<string | null> {
  const [, own] = /^http:\/\/localhost:4000(.*)$/.exec(link) ?? []
  if (own !== undefined) {
    const response = await gateway.app.fetch(new Request(link, { headers: { accept: 'text/html' } }))
    return response.status === 200 ? null : `has status ${response.status}`
  }
  if (link.startsWith('https:')) return URL.canParse(link) ? null : 'is not a URL'
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? readme.file : path.posix.join(path.posix.dirname(readme.file), file)
  if (!existsSync(path.join(root, target))) return 'does not exist'
  if (anchor === undefined) return null
  const headings = readmes.find((each) => each.file === target)
  return headings !== undefined && anchorsOf(headings).includes(anchor) ? null : 'has no such heading'
}

/** Returns the names of files and folders in code spans. */
function namesIn({ prose }: Readme): string[] {
  const isName = (code: string): boolean =>
    /^[\w.-][\w./-]*\.(ts|mjs|js|graphql|sql|prisma|md|json)$/.test(code) || /^[\w.-][\w./-]*\/$/.test(code)
  return codeIn(prose).filter((code) => isName(code) && !externalNames.includes(code))
}

/** Returns whether a file or folder exists: in the README's folder, in the folder of its tests, or in the root. */
function exists({ file }: Readme, name: string): boolean {
  const folder = path.posix.dirname(file)
  const places = [folder, folder.replace(/^src/, 'test'), '.'].map((place) => path.join(root, place, name))
  return places.some((place) => existsSync(place) && statSync(place).isDirectory() === name.endsWith('/'))
}

/** A limit with the numbers that a README states. */
interface DocumentedLimit {
  readonly name: string
  readonly numbers: readonly number[]
}

/** Returns the limits of a README: in tables of limits, and in parentheses after a number. */
function documentedLimits({ prose }: Readme): DocumentedLimit[] {
  const rows = tablesIn(prose)
    .filter(({ header: [first, second] }) => first === 'limit' && second === 'value')
    .flatMap(({ rows }) => rows)
    .map(([name = '', value = '']) => ({ name: codeIn(name)[0] ?? '', numbers: numbersIn(value) }))
  const named = Array.from(prose.matchAll(/(\d[\d,/]*)[^\d.;:(|]*\(`([\w.]+)`\)/g), ([, number = '', name = '']) => {
    return { name, numbers: numbersIn(number) }
  })
  return [...rows, ...named.filter(({ name }) => limitAt(name) !== undefined)]
}

/** Returns a message for each limit whose numbers differ from those of the source. */
function limitProblems(among: readonly Readme[]): string[] {
  return among.flatMap((readme) =>
    documentedLimits(readme).flatMap(({ name, numbers }) => {
      const limit = limitAt(name)
      const values = typeof limit === 'object' && limit !== null ? Object.values(limit) : [limit]
      const isCorrect = values.length === numbers.length && values.every((value, index) => value === numbers[index])
      return isCorrect ? [] : [`${readme.file}: ${name} is ${numbers.join(', ')}, expected ${values.join(', ')}`]
    }),
  )
}

/** Returns the numbers of a text: also fractions such as 1/2, and MiB in bytes. */
function numbersIn(text: string): number[] {
  return Array.from(text.matchAll(/(\d[\d,]*)(?:\/(\d+))?( MiB)?/g), ([, digits = '', divisor = '1', unit]) => {
    return (Number(digits.replaceAll(',', '')) / Number(divisor)) * (unit === undefined ? 1 : 1024 * 1024)
  })
}

/** Returns the limit at a path such as `listLimits.events`; undefined if there is none. */
function limitAt(name: string): unknown {
  return name.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
  }, limits)
}

/** Returns the paths of all numbers of a limit; those of a list, with `min`, are one path. */
function namesOf(name: string, limit: unknown): string[] {
  if (typeof limit !== 'object' || limit === null || 'min' in limit) return [name]
  return Object.entries(limit).flatMap(([key, inner]) => namesOf(`${name}.${key}`, inner))
}

/** Returns the variables of a table whose default is a value. */
function defaultsIn({ rows }: Table): [name: string, value: string][] {
  return rows.flatMap(([name = '', value = '']): [string, string][] => {
    const [literal] = codeIn(value)
    return literal === undefined ? [] : [[codeIn(name)[0] ?? '', literal]]
  })
}

/** Returns whether setting a variable to a value does not change the configuration, with either engine. */
function isDefault(name: string, value: string): boolean {
  return [{}, { DATABASE_URL: 'postgres://user@host/name' }].every((engine) => {
    return JSON.stringify(readConfig({ ...engine, [name]: value })) === JSON.stringify(readConfig(engine))
  })
}

/** Returns the last part of a problem type. */
function typeOf(code: string): string {
  return code.toLowerCase().replaceAll('_', '-')
}

/** Keys of a kind of fact or of a type of event. */
interface Shape {
  readonly name: string
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

/** Keys of all events, which only the row of the kind `event` has. */
const commonEventKeys = ['vault', 'type', 'block', 'txHash', 'logIndex']

/** Returns the keys of each kind of fact and type of event, from the schema. */
function shapes(): Shape[] {
  return factSchema.options
    .flatMap((option): z.ZodObject[] => ('options' in option ? [...option.options] : [option]))
    .map(shapeOf)
}

function shapeOf({ shape }: z.ZodObject): Shape {
  const commonKeys = 'type' in shape ? ['kind', 'ts', ...commonEventKeys] : ['kind', 'ts']
  const own = Object.entries(shape).filter(([key]) => !commonKeys.includes(key))
  const isOptional = ([, type]: [string, unknown]): boolean => type instanceof z.ZodOptional
  const named = shape['type'] ?? shape['kind']
  return {
    name: named instanceof z.ZodLiteral ? String(named.value) : '',
    required: own.filter((entry) => !isOptional(entry)).map(([key]) => key),
    optional: own.filter(isOptional).map(([key]) => key),
  }
}

/** Parses a cell with required keys, and optional ones after the word `optional`. */
function keysIn(cell: string): Omit<Shape, 'name'> {
  const [required = '', optional = ''] = cell.split('optional ')
  return { required: codeIn(required), optional: codeIn(optional) }
}
