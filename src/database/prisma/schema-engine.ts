import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'

/** Declared here because the types of Node 20 lack it. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
    imports: Record<string, unknown>,
  ): Promise<{ instance: { exports: Record<string, unknown> } }>
}

/** Exports of the package's bundler entry that its types omit. */
interface EngineBindings {
  SchemaEngine: {
    new: (
      options: { datamodels: [path: string, content: string][] },
      log: (line: string) => void,
      adapter: unknown,
    ) => Promise<SchemaEngine>
  }
  __wbg_set_wasm: (exports: Record<string, unknown>) => void
}

let engine: Promise<EngineBindings> | undefined

/**
 * Starts Prisma's schema engine in this process, on the database of an adapter.
 * @param datamodel text of schema.prisma
 */
export async function startSchemaEngine(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  datamodel: string,
): Promise<SchemaEngine> {
  const { SchemaEngine: Engine } = await (engine ??= instantiate())
  const bound = bindMigrationAwareSqlAdapterFactory(adapter)
  return Engine.new({ datamodels: [['schema.prisma', datamodel]] }, () => undefined, bound)
}

/**
 * Instantiates the engine's WebAssembly module. The package's own entry imports it as an ES module, which Node 20
 * cannot do.
 */
async function instantiate(): Promise<EngineBindings> {
  const path = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const bytes = await readFile(path.replace(/\.js$/, '.wasm'))
  const loaded = bindings as unknown as EngineBindings
  const { instance } = await WebAssembly.instantiate(bytes, {
    './schema_engine_bg.js': { ...bindings, ...unreferencedTimers() },
  })
  loaded.__wbg_set_wasm(instance.exports)
  ;(instance.exports['__wbindgen_start'] as () => void)()
  return loaded
}

/**
 * Returns the engine's timer imports with unreferenced timers: it never clears the 10 s timeout of its lock, which
 * would keep a finished process alive.
 */
function unreferencedTimers(): Record<string, unknown> {
  const timers = Object.entries(bindings).filter(([name]) => name.startsWith('__wbg_setTimeout_'))
  return Object.fromEntries(
    timers.map(([name, start]) => [
      name,
      (...args: unknown[]) => (start as (...args: unknown[]) => NodeJS.Timeout)(...args).unref(),
    ]),
  )
}
