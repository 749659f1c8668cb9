import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import {
  bindMigrationAwareSqlAdapterFactory,
  type SqlMigrationAwareDriverAdapterFactory,
} from '@prisma/driver-adapter-utils'
import type { SchemaEngine } from '@prisma/schema-engine-wasm'
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg'

/** Node has it; its types for Node 20 don't. */
declare const WebAssembly: {
  instantiate(
    bytes: Uint8Array,
    imports: Record<string, unknown>,
  ): Promise<{ instance: { exports: Record<string, unknown> } }>
}

/** What the package's bundler entry exports beside its types. */
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
 * Starts Prisma's own schema engine in this process, on the database behind the adapter.
 * @param datamodel the text of schema.prisma
 */
export async function startSchemaEngine(
  adapter: SqlMigrationAwareDriverAdapterFactory,
  datamodel: string,
): Promise<SchemaEngine> {
  const { SchemaEngine: Engine } = await (engine ??= instantiate())
  const bound = bindMigrationAwareSqlAdapterFactory(adapter)
  return Engine.new({ datamodels: [['schema.prisma', datamodel]] }, () => undefined, bound)
}

/** The package's entry imports its wasm file as a module, which Node 20 can't: so it is instantiated here. */
async function instantiate(): Promise<EngineBindings> {
  const path = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  const bytes = await readFile(path.replace(/\.js$/, '.wasm'))
  const loaded = bindings as unknown as EngineBindings
  const { instance } = await WebAssembly.instantiate(bytes, {
    './schema_engine_bg.js': { ...bindings, ...unheldTimers() },
  })
  loaded.__wbg_set_wasm(instance.exports)
  ;(instance.exports['__wbindgen_start'] as () => void)()
  return loaded
}

/** The engine never clears the 10 s limit on its lock: it must not keep a process that is done from ending. */
function unheldTimers(): Record<string, unknown> {
  const timers = Object.entries(bindings).filter(([name]) => name.startsWith('__wbg_setTimeout_'))
  return Object.fromEntries(
    timers.map(([name, start]) => [
      name,
      (...args: unknown[]) => (start as (...args: unknown[]) => NodeJS.Timeout)(...args).unref(),
    ]),
  )
}
