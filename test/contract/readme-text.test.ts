import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { environmentVariables, readConfig } from '../../src/config.ts'
import { eventTypes } from '../../src/domain/ledger.ts'
import { vaultStatuses } from '../../src/domain/vault.ts'
import { factKinds, factSchema } from '../../src/feed/fact/fact.ts'
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

/** Folders whose design is not obvious from their file names. */
const explained = [
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
/** Files that users write, or that are made at start. */
const notOfTheProject = ['chain.json', '.build/']

test('the folders that need one have a README, and the root one is short', () => {
  expect(readmes.map(({ file }) => file)).toEqual(
    expect.arrayContaining(explained.map((folder) => readmeOf(folder).file)),
  )
  expect(readmeOf('').text.split('\n').length - 1).toBeLessThanOrEqual(maxRootLines)
})

test('the root README leads to every other one', () => {
  const others = readmes.map(({ file }) => file).filter((file) => file !== 'README.md')
  expect(linksOf(readmeOf(''))).toEqual(expect.arrayContaining(others))
})

describe('links and names', () => {
  let gateway: TestGateway

  beforeAll(async () => {
    gateway = gatewayOn(await emptyDatabase())
  })

  test.each(readmes.map((readme) => [readme.file, readme] as const))('%s links to what there is', async (_, readme) => {
    for (const link of linksOf(readme)) expect(await flawOfLink(readme, link, gateway), link).toBeNull()
  })

  test.each(readmes.map((readme) => [readme.file, readme] as const))('%s names files that there are', (_, readme) => {
    for (const name of namesIn(readme)) expect(isThere(readme, name), name).toBe(true)
  })

  test('are found where they are wrong', async () => {
    const readme = readmeOf('src/http')
    expect(await flawOfLink(readme, 'gone.md', gateway)).toBe('is not there')
    expect(await flawOfLink(readme, '../README.md#no-such-heading', gateway)).toBe('has no such heading')
    expect(await flawOfLink(readme, 'http://localhost:4000/gone', gateway)).toBe('is answered 404')
    expect(isThere(readme, 'server/gone.ts')).toBe(false)
    expect(namesIn({ ...readme, prose: 'In `server/gone.ts` and `server/`, by `npm test`.' })).toEqual([
      'server/gone.ts',
      'server/',
    ])
  })
})

const limits = { ...otherLimits, ...liveLimits, assumedLengths }

describe('numbers', () => {
  test('of limits are those of limits.ts', () => {
    expect(flawsOfLimits(readmes)).toEqual([])
  })

  test('of limits are told, each once', () => {
    const told = readmes.flatMap((readme) => limitsTold(readme)).map(({ name }) => name)
    const all = Object.entries(limits).flatMap(([name, limit]) => namesOf(name, limit))
    expect(all.filter((name) => !told.includes(name) && !name.startsWith('assumedLengths.'))).toEqual([])
    expect(told.filter((name, at) => told.indexOf(name) < at)).toEqual([])
  })

  test('of limits are found where they are wrong', () => {
    const readme = readmeOf('src/http')
    const wrong = (prose: string): string[] => flawsOfLimits([{ ...readme, prose }])
    expect(wrong('| limit | value |\n| --- | --- |\n| `unsentBytes` | 64 MiB |\n')).toEqual([])
    expect(wrong('| limit | value |\n| --- | --- |\n| `unsentBytes` | 32 MiB |\n')).toHaveLength(1)
    expect(wrong('| limit | value |\n| --- | --- |\n| `noSuchLimit` | 32 |\n')).toHaveLength(1)
    expect(wrong('| limit | value |\n| --- | --- |\n| `listLimits.events` | 1 to 1,000, default 50 |\n')).toHaveLength(
      1,
    )
    expect(wrong('A count costs 100 (`readCost`).')).toEqual([])
    expect(wrong('A count costs 2 to 200 (`readCost`).')).toHaveLength(1)
  })

  test('of the configuration are its defaults', () => {
    const table = tableOf(readmeOf('src/cli'), 'variable', 'default')
    expect(table.rows.map(([name = '']) => codeIn(name)[0]).sort()).toEqual([...environmentVariables].sort())
    const flaws = defaultsIn(table).filter(([name, value]) => !isDefault(name, value))
    expect(flaws).toEqual([])
    expect(defaultsIn(table).length).toBeGreaterThan(15)
    expect(isDefault('MAX_QUERY_BYTES', '20001')).toBe(false)
    expect(isDefault('DATABASE_CONNECTIONS', '11')).toBe(false)
  })
})

describe('the tables', () => {
  test('of errors tell each problem with its status', () => {
    const { rows } = tableOf(readmeOf('src/http'), 'failure', 'REST', 'problem type', 'GraphQL code')
    const types = rows.flatMap(([, rest = '', type = '']) => (type === '' ? [] : [`${type} ${rest.slice(0, 3)}`]))
    const all = Object.entries(problems).map(([code, { status }]) => [typeOf(code), status] as const)
    for (const told of types) expect(all.map(([type, status]) => `\`${type}\` ${status}`)).toContain(told)
    const inGraphql = rows.map(([, , , code = '']) => code)
    const untold = Object.entries(problems).filter(
      ([code, { status }]) =>
        !types.includes(`\`${typeOf(code)}\` ${status}`) && !inGraphql.includes(`\`${code}\`, ${status}`),
    )
    expect(untold).toEqual([])
  })

  test('of facts and events tell the keys of each', () => {
    const readme = readmeOf('src/feed')
    const [kinds, events] = [tableOf(readme, 'kind'), tableOf(readme, 'type')]
    expect(kinds.rows.map(([kind = '']) => codeIn(kind)[0]).sort()).toEqual([...factKinds].sort())
    expect(events.rows.map(([type = '']) => codeIn(type)[0]).sort()).toEqual([...eventTypes].sort())
    const [, ofEvent = ''] = kinds.rows.find(([kind]) => kind === '`event`') ?? []
    expect(codeIn(ofEvent)).toEqual(ofEvents)
    for (const { name, required, optional } of shapes()) {
      const row = [...kinds.rows, ...events.rows].find(([first = '']) => codeIn(first)[0] === name)
      expect(keysIn(row?.[1] ?? ''), name).toEqual({ required, optional })
    }
  })

  test('of statuses tell all, in the order of the rule', () => {
    const told = tableOf(readmeOf('src/domain'), 'status', 'applies').rows.map(([status = '']) => codeIn(status)[0])
    expect([...new Set(told)].sort()).toEqual([...vaultStatuses].sort())
    expect(told).toEqual(['suspended', 'exiting', 'planting', 'idle', 'planting', 'attention', 'earning'])
  })

  test('of folders map folders that there are', () => {
    const { rows } = tableOf(readmeOf(''), 'folder', 'contents')
    expect(rows.length).toBeGreaterThan(8)
    for (const [folder = ''] of rows) expect(existsSync(path.join(root, codeIn(folder)[0] ?? '')), folder).toBe(true)
  })
})

/** The error of a link; null if it has none. */
async function flawOfLink(readme: Readme, link: string, gateway: TestGateway): Promise<string | null> {
  const [, own] = /^http:\/\/localhost:4000(.*)$/.exec(link) ?? []
  if (own !== undefined) {
    const response = await gateway.app.fetch(new Request(link, { headers: { accept: 'text/html' } }))
    return response.status === 200 ? null : `is answered ${response.status}`
  }
  if (link.startsWith('https:')) return URL.canParse(link) ? null : 'is no address'
  const [file = '', anchor] = link.split('#')
  const target = file === '' ? readme.file : path.posix.join(path.posix.dirname(readme.file), file)
  if (!existsSync(path.join(root, target))) return 'is not there'
  if (anchor === undefined) return null
  const headings = readmes.find((each) => each.file === target)
  return headings !== undefined && anchorsOf(headings).includes(anchor) ? null : 'has no such heading'
}

/** Files and folders that inline code names. */
function namesIn({ prose }: Readme): string[] {
  const isName = (code: string): boolean =>
    /^[\w.-][\w./-]*\.(ts|mjs|js|graphql|sql|prisma|md|json)$/.test(code) || /^[\w.-][\w./-]*\/$/.test(code)
  return codeIn(prose).filter((code) => isName(code) && !notOfTheProject.includes(code))
}

/** A name is relative to the README's folder, to the folder of tests that mirrors it, or to the root. */
function isThere({ file }: Readme, name: string): boolean {
  const folder = path.posix.dirname(file)
  const places = [folder, folder.replace(/^src/, 'test'), '.'].map((place) => path.join(root, place, name))
  return places.some((place) => existsSync(place) && statSync(place).isDirectory() === name.endsWith('/'))
}

interface LimitTold {
  readonly name: string
  readonly numbers: readonly number[]
}

/** The limits that a README tells: in tables of limits, and in parentheses behind a number. */
function limitsTold({ prose }: Readme): LimitTold[] {
  const rows = tablesIn(prose)
    .filter(({ header: [first, second] }) => first === 'limit' && second === 'value')
    .flatMap(({ rows }) => rows)
    .map(([name = '', value = '']) => ({ name: codeIn(name)[0] ?? '', numbers: numbersIn(value) }))
  const named = Array.from(prose.matchAll(/(\d[\d,/]*)[^\d.;:(|]*\(`([\w.]+)`\)/g), ([, number = '', name = '']) => {
    return { name, numbers: numbersIn(number) }
  })
  return [...rows, ...named.filter(({ name }) => limitAt(name) !== undefined)]
}

function flawsOfLimits(among: readonly Readme[]): string[] {
  return among.flatMap((readme) =>
    limitsTold(readme).flatMap(({ name, numbers }) => {
      const limit = limitAt(name)
      const right = typeof limit === 'object' && limit !== null ? Object.values(limit) : [limit]
      const isRight = right.length === numbers.length && right.every((value, index) => value === numbers[index])
      return isRight ? [] : [`${readme.file} says ${name} is ${numbers.join(', ')}, not ${right.join(', ')}`]
    }),
  )
}

function numbersIn(text: string): number[] {
  return Array.from(text.matchAll(/(\d[\d,]*)(?:\/(\d+))?( MiB)?/g), ([, digits = '', divisor = '1', unit]) => {
    return (Number(digits.replaceAll(',', '')) / Number(divisor)) * (unit === undefined ? 1 : 1024 * 1024)
  })
}

/** The limit at a path such as `listLimits.events`. */
function limitAt(name: string): unknown {
  return name.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
  }, limits)
}

/** The paths of numbers; a list's limits have one. */
function namesOf(name: string, limit: unknown): string[] {
  if (typeof limit !== 'object' || limit === null || 'min' in limit) return [name]
  return Object.entries(limit).flatMap(([key, inner]) => namesOf(`${name}.${key}`, inner))
}

/** The variables of the configuration with the defaults that are values. */
function defaultsIn({ rows }: Table): [name: string, value: string][] {
  return rows.flatMap(([name = '', value = '']): [string, string][] => {
    const [literal] = codeIn(value)
    return literal === undefined ? [] : [[codeIn(name)[0] ?? '', literal]]
  })
}

/** Whether a variable that is set to a value changes nothing, with either engine. */
function isDefault(name: string, value: string): boolean {
  return [{}, { DATABASE_URL: 'postgres://user@host/name' }].every((engine) => {
    return JSON.stringify(readConfig({ ...engine, [name]: value })) === JSON.stringify(readConfig(engine))
  })
}

function typeOf(code: string): string {
  return code.toLowerCase().replaceAll('_', '-')
}

interface Shape {
  readonly name: string
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

/** Keys that all events have; their row says so. */
const ofEvents = ['vault', 'type', 'block', 'txHash', 'logIndex']

/** The keys of each kind of fact and type of event, as the schema has them. */
function shapes(): Shape[] {
  return factSchema.options
    .flatMap((option): z.ZodObject[] => ('options' in option ? [...option.options] : [option]))
    .map(shapeOf)
}

function shapeOf({ shape }: z.ZodObject): Shape {
  const ofAll = 'type' in shape ? ['kind', 'ts', ...ofEvents] : ['kind', 'ts']
  const own = Object.entries(shape).filter(([key]) => !ofAll.includes(key))
  const isOptional = ([, type]: [string, unknown]): boolean => type instanceof z.ZodOptional
  const named = shape['type'] ?? shape['kind']
  return {
    name: named instanceof z.ZodLiteral ? String(named.value) : '',
    required: own.filter((entry) => !isOptional(entry)).map(([key]) => key),
    optional: own.filter(isOptional).map(([key]) => key),
  }
}

function keysIn(cell: string): Omit<Shape, 'name'> {
  const [required = '', optional = ''] = cell.split('optional ')
  return { required: codeIn(required), optional: codeIn(optional) }
}
