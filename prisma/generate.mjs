// Writes the Prisma client and the types of the schema's models where they are missing or of another schema.prisma.
// They are not committed, and a package's install scripts may be forbidden: so every command that needs them asks here.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const generated = path.join(import.meta.dirname, '../src/database/prisma/generated')
/** The digest of the schema that they were generated from: a copy of an installation may have other times. */
const digestFile = path.join(generated, 'schema.sha256')
const schema = readFileSync(path.join(import.meta.dirname, 'schema.prisma'))
const digest = createHash('sha256').update(schema).digest('hex')

if (!existsSync(digestFile) || readFileSync(digestFile, 'utf8') !== digest) {
  rmSync(generated, { recursive: true, force: true })
  const cli = createRequire(import.meta.url).resolve('prisma/build/index.js')
  const generators = path.join(import.meta.dirname, '../node_modules/.bin')
  const env = {
    ...process.env,
    PATH: `${generators}${path.delimiter}${process.env.PATH}`,
    // The CLI would ask its maker for newer versions.
    CHECKPOINT_DISABLE: '1',
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    // Generating needs no schema engine, yet the CLI would download one: any executable satisfies it. It is said here
    // alone, for commands such as migrate do need the engine.
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
  }
  // The output of the CLI is part of the error that a failure throws.
  execFileSync(process.execPath, [cli, 'generate', '--config', path.join(import.meta.dirname, 'prisma.config.ts')], {
    env,
    stdio: 'pipe',
  })
  writeFileSync(digestFile, digest)
}
