import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  duplicateExports,
  effectsOf,
  hasDefaultExport,
  importCycles,
  importsOf,
  isBarrel,
  nounClauseComments,
  parse,
  type Sources,
} from './sources.ts'

/** The imports that a layer may have. */
interface Layer {
  /** Layers or single files that it may import from, besides itself. */
  readonly layers: readonly string[]
  /** Packages; a trailing * matches any suffix. */
  readonly packages: readonly string[]
}

/** The layers by name: a folder of src, or a file beside the folders. */
const layers: Readonly<Record<string, Layer>> = {
  domain: { layers: [], packages: ['decimal.js', 'viem'] },
  // All layers except domain may import it.
  limits: { layers: [], packages: [] },
  // Of the database it uses only the syntax of an address.
  config: { layers: ['limits', 'src/database/postgresql/server-address.ts'], packages: ['zod'] },
  // Only here: Prisma, PGlite and pg.
  database: {
    layers: ['limits', 'domain'],
    packages: ['node:*', '@prisma/*', 'pg', '@electric-sql/pglite', 'pglite-prisma-adapter', 'lru-cache'],
  },
  // Of the database it uses only cancellation.
  fairness: { layers: ['src/database/cancellation.ts', 'src/database/errors.ts'], packages: ['lru-cache'] },
  feed: { layers: ['limits', 'domain', 'database'], packages: ['node:*', 'zod', 'lossless-json'] },
  // Only here: viem's client. Of a feed it uses only the type of a fact and its check.
  chain: {
    layers: ['limits', 'domain', 'src/feed/fact/fact.ts', 'src/feed/fact/parse.ts'],
    packages: ['node:*', 'viem', 'viem/utils', '@ponder/utils', 'zod', 'lru-cache'],
  },
  graphql: {
    layers: ['limits', 'domain', 'database', 'fairness'],
    packages: ['graphql', '@pothos/*', 'dataloader', 'lru-cache', 'node:perf_hooks'],
  },
  // It gets the executor as a parameter, so that it cannot add behaviour to the schema's, and knows the executor's types.
  rest: {
    layers: ['limits', 'src/graphql/execution/context.ts', 'src/graphql/execution/fixed-document.ts'],
    packages: ['node:*'],
  },
  // Of the domain it uses only the syntax of a data version, of the database only cancellation and cache tags.
  http: {
    layers: [
      ...['limits', 'src/domain/identity/data-version.ts'],
      ...['src/database/cancellation.ts', 'src/database/commits/cache-tags.ts'],
      ...['fairness', 'graphql', 'rest'],
    ],
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
  // It knows the gateway by its GraphQL alone.
  web: {
    layers: [],
    packages: ['preact', 'preact/hooks', '@urql/core', 'graphql-sse', 'uplot', '@tanstack/virtual-core'],
  },
  cli: {
    layers: ['limits', 'domain', 'config', 'database', 'feed', 'chain', 'graphql', 'rest', 'http'],
    packages: ['node:*', 'cli-progress', 'pino'],
  },
  main: {
    layers: ['limits', 'domain', 'config', 'database', 'feed', 'chain', 'graphql', 'rest', 'http', 'cli'],
    packages: ['node:*'],
  },
}

/** Folders that need a README.md: those with sub-folders, and those whose design is not obvious from file names. */
const documentedFolders: readonly string[] = [
  ...[
    'src',
    'src/domain',
    'src/database',
    'src/feed',
    'src/chain',
    'src/graphql',
    'src/http',
    'src/rest',
    'src/web',
    'src/cli',
  ],
  ...['test/bench', 'test/cluster', 'test/reliability'],
]

/** Functions of viem that layers other than chain may import. */
const pureAddressHelpers = ['getAddress', 'isAddress', 'checksumAddress']
/** Composition roots, of the program and of the page. */
const roots: readonly string[] = ['src/main.ts', 'src/web/main.tsx']
const maxLines = 220
/** Maximum number of .ts and .tsx files in a folder of src. */
const maxFilesInFolder = 12

const root = path.resolve(import.meta.dirname, '../..')
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], { cwd: root })
  .toString()
  .split('\0')
  .filter((file) => file !== '')
const modules = files.filter((file) => /\.(?:tsx?|mjs)$/.test(file) && !file.endsWith('.generated.ts'))
const written = modules.filter((file) => /^src\/.*\.tsx?$/.test(file))
const textsOf = (names: readonly string[]): Sources =>
  new Map(names.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]))
const sources = textsOf(written)

describe('imports between layers', () => {
  test('are those that the layers permit', () => {
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
    ['src/web/new.tsx', `import { routes } from '../rest/routes.ts'`],
    ['src/web/new.tsx', `import { readFile } from 'node:fs/promises'`],
    ['src/elsewhere/new.ts', `import path from 'node:path'`],
  ])('must not be, in %s: %s', (file, text) => {
    expect(forbiddenImports(new Map([[file, text]]))).toHaveLength(1)
  })

  test('have no cycles', () => {
    expect(importCycles(importsOf(sources))).toEqual([])
    const cycle = new Map([
      ['src/feed/a.ts', `import { b } from './b.ts'`],
      ['src/feed/b.ts', `import type { c } from './c.ts'`],
      ['src/feed/c.ts', `export { a } from './a.ts'`],
    ])
    expect(importCycles(importsOf(cycle))).toEqual(['src/feed/a.ts -> src/feed/b.ts -> src/feed/c.ts -> src/feed/a.ts'])
  })
})

describe('a file', () => {
  test('is not a barrel, which only re-exports', () => {
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

  test('reads neither process nor clock, except in main and cli', () => {
    const pure = written.filter((file) => !roots.includes(file) && !file.startsWith('src/cli/'))
    expect(filesWhere((file) => pure.includes(file.fileName) && effectsOf(file).length > 0)).toEqual([])
    expect(filesWhere((file) => effectsOf(file).length > 0)).toContain('src/main.ts')
    const effects = effectsOf(
      parse('a.ts', 'process.exit(process.env.A === `${Date.now()}` ? +new Date() : new Date(1))'),
    )
    expect(effects.sort()).toEqual(['Date.now', 'new Date()', 'process.env', 'process.exit'])
  })

  test('has at most 220 lines, with few exceptions', () => {
    const long = [...sources].filter(([, text]) => text.split('\n').length - 1 > maxLines)
    expect(long.length, long.map(([file]) => file).join(', ')).toBeLessThanOrEqual(written.length / 20)
  })
})

describe('names and comments', () => {
  test('are checked in most files', () => expect(sources.size).toBeGreaterThan(100))

  test('no exported name is declared in two files', () => {
    expect(duplicateExports(sources)).toEqual([])
    const violation = new Map([
      ['src/feed/a.ts', 'export interface Start {}\nexport function read(): void {}'],
      ['src/feed/b.ts', 'export const read = 1\nexport type Start = string\nexport const Start = 1'],
    ])
    expect(duplicateExports(violation)).toEqual([
      'Start: src/feed/a.ts, src/feed/b.ts',
      'read: src/feed/a.ts, src/feed/b.ts',
    ])
  })

  test('no doc comment begins with What or Who', () => {
    // This file contains violations as examples.
    const others = modules.filter((file) => !file.endsWith('contract/house.test.ts'))
    expect(nounClauseComments(textsOf(others))).toEqual([])
    const violation = new Map([
      ['src/feed/a.ts', '/** What is read. */\nexport const a = 1\n\n/** Reads what is there. */\nexport const b = 1'],
      ['src/feed/b.ts', '/**\n * Who waits,\n * and why.\n */\nexport const c = 1'],
    ])
    expect(nounClauseComments(violation)).toEqual(['src/feed/a.ts: What is read.', 'src/feed/b.ts: Who waits,'])
  })
})

test('no folder of src has more than 12 files', () => {
  expect(crowdedFolders(written)).toEqual([])
  const many = Array.from({ length: maxFilesInFolder + 1 }, (_, index) => `src/feed/${index}.ts`)
  expect(crowdedFolders([...many, 'src/feed/fact/fact.ts'])).toEqual(['src/feed: 13 files'])
})

test('folders with a design of their own have a README.md', () => {
  expect(withoutReadme(files, documentedFolders)).toEqual([])
  expect(withoutReadme(['src/README.md', 'src/feed/fact/README.md'], ['src', 'src/feed'])).toEqual(['src/feed'])
})

test('the top level contains nothing besides the documented files and folders', () => {
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

/** Returns the folders with too many files of their own. */
function crowdedFolders(paths: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const file of paths) counts.set(path.posix.dirname(file), (counts.get(path.posix.dirname(file)) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count > maxFilesInFolder)
    .map(([folder, count]) => `${folder}: ${count} files`)
}

function withoutReadme(paths: readonly string[], folders: readonly string[]): string[] {
  return folders.filter((folder) => !paths.includes(`${folder}/README.md`))
}

function forbiddenImports(among: Sources): string[] {
  return importsOf(among)
    .filter(({ from, to, names }) => !isAllowed(from, to) || !isPure(from, to, names) || !mayWrite(from, to))
    .map(({ from, to }) => `${from} imports ${to}`)
}

function isAllowed(from: string, to: string): boolean {
  const layer = layerOf(from)
  const { layers: permitted, packages } = layers[layer] ?? { layers: [], packages: [] }
  if (to.startsWith('src/')) return layerOf(to) === layer || permitted.includes(layerOf(to)) || permitted.includes(to)
  const known = packages.some((name) => (name.endsWith('*') ? to.startsWith(name.slice(0, -1)) : to === name))
  return known && (!to.startsWith('node:') || builtinModules.includes(to.slice('node:'.length)))
}

function isPure(from: string, to: string, names: readonly string[]): boolean {
  if (!to.startsWith('viem') || layerOf(from) === 'chain') return true
  return names.length > 0 && names.every((name) => pureAddressHelpers.includes(name))
}

/** Only the layers that apply feeds may write. */
function mayWrite(from: string, to: string): boolean {
  return !to.startsWith('src/database/write/') || ['database', 'feed', 'cli'].includes(layerOf(from))
}

/** Returns the layer of a file: its folder of src, or the name of a file beside the folders. */
function layerOf(file: string): string {
  return path.basename(file.split('/')[1] ?? '', '.ts')
}

function filesWhere(holds: (file: ReturnType<typeof parse>) => boolean): string[] {
  return [...sources].filter(([file, text]) => holds(parse(file, text))).map(([file]) => file)
}
