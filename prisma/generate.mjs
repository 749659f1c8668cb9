// Writes the Prisma client and the types of the schema's models where they are missing or of another schema.prisma.
// They are not committed, and a package's install scripts may be forbidden: so every command that needs them asks here.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const folder = 'src/database/prisma/generated'
const generated = path.join(root, folder)
/** The digest of the schema that they were generated from: a copy of an installation may have other times. */
const digestFile = 'schema.sha256'
const schema = readFileSync(path.join(import.meta.dirname, 'schema.prisma'), 'utf8')
const digest = createHash('sha256').update(schema).digest('hex')

if (!isGenerated()) {
  // In a folder of this process, since others may read those that are there, or generate the same, meanwhile.
  mkdirSync(path.join(root, '.build'), { recursive: true })
  const unfinished = mkdtempSync(path.join(root, '.build', 'generated.'))
  const made = path.join(unfinished, 'generated')
  const source = path.join(unfinished, 'schema.prisma')
  try {
    writeFileSync(source, schema.replaceAll(`"../${folder}/`, '"./generated/'))
    generate(source)
    if (!isGenerated()) replaceBy(made, path.join(unfinished, 'previous'))
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

function isGenerated() {
  const file = path.join(generated, digestFile)
  return existsSync(file) && readFileSync(file, 'utf8') === digest
}

function generate(source) {
  const cli = createRequire(import.meta.url).resolve('prisma/build/index.js')
  const config = path.join(import.meta.dirname, 'prisma.config.ts')
  const generators = path.join(root, 'node_modules/.bin')
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
  execFileSync(process.execPath, [cli, 'generate', '--schema', source, '--config', config], { env, stdio: 'pipe' })
}

function replaceBy(made, previous) {
  try {
    renameSync(generated, previous)
  } catch (error) {
    // Overlay file systems, as of container images, do not rename a folder of a lower layer.
    if (error.code === 'EXDEV') rmSync(generated, { recursive: true, force: true })
    // None is there, or another process has just moved it.
    else if (error.code !== 'ENOENT') throw error
  }
  try {
    writeFileSync(path.join(made, digestFile), digest)
    renameSync(made, generated)
  } catch (error) {
    // Another process has generated the same meanwhile.
    if (isGenerated()) return
    if (error.code !== 'EXDEV') throw error
    // .build is on another file system. The digest comes last: without it, the next start generates again.
    cpSync(made, generated, { recursive: true, filter: (file) => path.basename(file) !== digestFile })
    writeFileSync(path.join(generated, digestFile), digest)
  }
}
