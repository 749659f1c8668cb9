import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { circles, effectsOf, hasDefaultExport, importsOf, isBarrel, parse, type Sources } from './sources.ts'

interface Room {
  /** Where its files may import from, beside the room itself: rooms, or single files of one. */
  readonly rooms: readonly string[]
  /** A name that ends with * stands for all that begin so. */
  readonly packages: readonly string[]
}

/** Who may import whom. */
const house: Readonly<Record<string, Room>> = {
  domain: { rooms: [], packages: ['decimal.js', 'viem'] },
  // Every number that bounds a stranger, with its reason.
  limits: { rooms: [], packages: [] },
  // Of the database it knows how an address is written.
  config: { rooms: ['limits', 'src/database/postgresql/server-address.ts'], packages: ['zod'] },
  // Prisma, PGlite and pg are known here alone.
  database: {
    rooms: ['domain'],
    packages: ['node:*', '@prisma/*', 'pg', '@electric-sql/pglite', 'pglite-prisma-adapter', 'lru-cache'],
  },
  feed: { rooms: ['domain', 'database'], packages: ['node:*', 'zod', 'lossless-json'] },
  // viem's client is known here alone; of a feed it knows what a fact is.
  chain: { rooms: ['domain', 'src/feed/fact/fact.ts'], packages: ['node:*', 'viem', '@ponder/utils', 'zod'] },
  graphql: { rooms: ['limits', 'domain', 'database'], packages: ['graphql', '@pothos/*', 'dataloader', 'lru-cache'] },
  // It takes the executor as a parameter, so that it can only repeat what the schema says.
  rest: { rooms: [], packages: ['node:*'] },
  // Of the database it knows how a read is given up, and which tags an answer depends on.
  http: {
    rooms: ['limits', 'src/database/cancellation.ts', 'src/database/commits/cache-tags.ts', 'graphql', 'rest'],
    packages: [
      'node:*',
      'graphql',
      'graphql-yoga',
      '@graphql-yoga/render-graphiql',
      '@fastify/accept-negotiator',
      'lru-cache',
      'prom-client',
      'rate-limiter-flexible',
    ],
  },
  cli: {
    rooms: ['limits', 'domain', 'config', 'database', 'feed', 'chain', 'graphql', 'rest', 'http'],
    packages: ['node:*', 'cli-progress', 'pino'],
  },
  main: {
    rooms: ['limits', 'domain', 'config', 'database', 'feed', 'chain', 'graphql', 'rest', 'http', 'cli'],
    packages: ['node:*'],
  },
}

/** The helpers that may serve domain; viem's client may not. */
const pureAddressHelpers = ['getAddress', 'isAddress', 'checksumAddress']
const mostLines = 220

const root = path.resolve(import.meta.dirname, '../..')
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root })
  .toString()
  .split('\0')
  .filter((file) => file !== '')
const written = files.filter((file) => /^src\/.*\.ts$/.test(file) && !file.endsWith('.generated.ts'))
const sources: Sources = new Map(written.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]))

describe('who may import whom', () => {
  test('is kept', () => {
    expect(importsOf(sources).length).toBeGreaterThan(100)
    expect(forbiddenImports(sources)).toEqual([])
  })

  test.each([
    ['src/domain/new.ts', `import { z } from 'zod'`],
    ['src/domain/new.ts', `import path from 'node:path'`],
    ['src/domain/new.ts', `import { createPublicClient } from 'viem'`],
    ['src/domain/new.ts', `import { getContract } from 'viem/utils'`],
    ['src/domain/new.ts', `import * as utils from 'viem/utils'`],
    ['src/domain/new.ts', `import type { Database } from '../database/database.ts'`],
    ['src/config.ts', `import { zero } from './domain/decimal.ts'`],
    ['src/database/new.ts', `export { ingest } from '../feed/ingest.ts'`],
    ['src/feed/new.ts', `const { Pool } = await import('pg')`],
    ['src/feed/new.ts', `const schema = await import('../graphql/schema.ts')`],
    ['src/graphql/new.ts', `import { PrismaClient } from '@prisma/client'`],
    ['src/graphql/new.ts', `type Fact = import('../feed/fact.ts').Fact`],
    ['src/graphql/new.ts', `import { saveVaults } from '../database/write/vault.ts'`],
    ['src/rest/new.ts', `import { createExecutor } from '../graphql/execute.ts'`],
    ['src/http/new.ts', `import { readLedger } from '../database/read/ledger.ts'`],
    ['src/http/new.ts', `import { serve } from '../cli/serve.ts'`],
    ['src/http/new.ts', `import '../main.ts'`],
    ['src/cli/new.ts', `import '../main.ts'`],
    ['src/cli/new.ts', `import { PGlite } from '@electric-sql/pglite'`],
    ['src/chain/new.ts', `import { ingest } from '../feed/ingest.ts'`],
    ['src/chain/new.ts', `import { readVaults } from '../database/read/vault.ts'`],
    ['src/feed/new.ts', `import { chainFeed } from '../chain/feed.ts'`],
    ['src/elsewhere/new.ts', `import path from 'node:path'`],
  ])('forbids %s to say: %s', (file, text) => {
    expect(forbiddenImports(new Map([[file, text]]))).toHaveLength(1)
  })

  test('allows no circle of files', () => {
    expect(circles(importsOf(sources))).toEqual([])
    const circle = new Map([
      ['src/feed/a.ts', `import { b } from './b.ts'`],
      ['src/feed/b.ts', `import type { c } from './c.ts'`],
      ['src/feed/c.ts', `export { a } from './a.ts'`],
    ])
    expect(circles(importsOf(circle))).toEqual(['src/feed/a.ts -> src/feed/b.ts -> src/feed/c.ts -> src/feed/a.ts'])
  })
})

describe('a file', () => {
  test('that only passes values on is none of the house', () => {
    expect(filesWhere(isBarrel)).toEqual([])
    expect(isBarrel(parse('a.ts', `export * from './b.ts'`))).toBe(true)
    expect(isBarrel(parse('a.ts', `import { b } from './b.ts'\nexport { b }`))).toBe(true)
    expect(isBarrel(parse('a.ts', `import './b.ts'\nexport const a = 1`))).toBe(false)
  })

  test('exports by name', () => {
    expect(filesWhere(hasDefaultExport)).toEqual([])
    expect(hasDefaultExport(parse('a.ts', 'export default 1'))).toBe(true)
    expect(hasDefaultExport(parse('a.ts', 'export default function a() {}'))).toBe(true)
    expect(hasDefaultExport(parse('a.ts', 'const a = 1\nexport { a as default }'))).toBe(true)
    expect(hasDefaultExport(parse('a.ts', 'switch (a) { default: b() }'))).toBe(false)
  })

  test('asks neither its process nor the clock, but in main and the command line', () => {
    const pure = written.filter((file) => file !== 'src/main.ts' && !file.startsWith('src/cli/'))
    expect(filesWhere((file) => pure.includes(file.fileName) && effectsOf(file).length > 0)).toEqual([])
    expect(filesWhere((file) => effectsOf(file).length > 0)).toContain('src/main.ts')
    const effects = effectsOf(
      parse('a.ts', 'process.exit(process.env.A === `${Date.now()}` ? +new Date() : new Date(1))'),
    )
    expect(effects.sort()).toEqual(['Date.now', 'new Date()', 'process.env', 'process.exit'])
  })

  test('is seldom longer than can be read at once', () => {
    const long = [...sources].filter(([, text]) => text.split('\n').length - 1 > mostLines)
    expect(long.length, long.map(([file]) => file).join(', ')).toBeLessThanOrEqual(written.length / 20)
  })
})

test('the top level shows what the house is made of, and no more', () => {
  const visible = new Set(files.map((file) => file.split('/')[0] ?? '').filter((name) => !name.startsWith('.')))
  expect([...visible].sort()).toEqual([
    'README.md',
    'codegen.ts',
    'package-lock.json',
    'package.json',
    'prisma',
    'schema.graphql',
    'src',
    'test',
    'tsconfig.json',
  ])
})

function forbiddenImports(among: Sources): string[] {
  return importsOf(among)
    .filter(({ from, to, names }) => !isAllowed(from, to) || !isPure(from, to, names) || !mayWrite(from, to))
    .map(({ from, to }) => `${from} imports ${to}`)
}

function isAllowed(from: string, to: string): boolean {
  const room = roomOf(from)
  const { rooms, packages } = house[room] ?? { rooms: [], packages: [] }
  if (to.startsWith('src/')) return roomOf(to) === room || rooms.includes(roomOf(to)) || rooms.includes(to)
  const known = packages.some((name) => (name.endsWith('*') ? to.startsWith(name.slice(0, -1)) : to === name))
  return known && (!to.startsWith('node:') || builtinModules.includes(to.slice('node:'.length)))
}

function isPure(from: string, to: string, names: readonly string[]): boolean {
  if (!to.startsWith('viem') || roomOf(from) === 'chain') return true
  return names.length > 0 && names.every((name) => pureAddressHelpers.includes(name))
}

/** There is one way in: only what reads feeds has to do with writing. */
function mayWrite(from: string, to: string): boolean {
  return !to.startsWith('src/database/write/') || ['database', 'feed', 'cli'].includes(roomOf(from))
}

/** The folder of src that a file is in, or the name of a file beside them. */
function roomOf(file: string): string {
  return path.basename(file.split('/')[1] ?? '', '.ts')
}

function filesWhere(holds: (file: ReturnType<typeof parse>) => boolean): string[] {
  return [...sources].filter(([file, text]) => holds(parse(file, text))).map(([file]) => file)
}
