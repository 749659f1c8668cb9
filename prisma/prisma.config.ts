import path from 'node:path'
import { defineConfig } from 'prisma/config'

// Generating the client needs no schema engine, yet the CLI would download one: any executable satisfies it.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath

export default defineConfig({
  schema: path.join(import.meta.dirname, 'schema.prisma'),
  migrations: { path: path.join(import.meta.dirname, 'migrations') },
  datasource: { url: process.env['DATABASE_URL'] ?? 'postgresql://localhost/vault_gateway' },
})
