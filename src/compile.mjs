// Compiles src/ into .build/, once for each state of it: Node 20 reads no TypeScript, and a loader that has it read takes
// 50 MB and half a second at every start.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const builds = path.join(root, '.build')
/**
 * Of viem, and of what builds on it, only what is used becomes part of the program: every start needs its addresses, and
 * loading it whole takes 24 MB.
 */
const takenIn = ['viem', '@ponder/utils']
/** Processes that run may yet load parts of what was compiled before. */
const keptMilliseconds = 24 * 60 * 60 * 1000

/** Compiles what isn't yet, and gives the program. */
export async function compiled() {
  // What is two folders below the root here is so there: src/ and the result find the same files.
  const folder = path.join(builds, stateOf(path.join(root, 'src')))
  const program = path.join(folder, 'main.js')
  if (!existsSync(program)) await compile(folder)
  return program
}

async function compile(folder) {
  const { build } = await import('esbuild')
  const unfinished = `${folder}.${process.pid}`
  await build({
    entryPoints: [path.join(root, 'src/main.ts')],
    outdir: unfinished,
    bundle: true,
    splitting: true,
    external: externals(),
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    logLevel: 'warning',
  })
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    // Another process was faster.
    if (!existsSync(folder)) throw error
    rmSync(unfinished, { recursive: true })
  }
  removeOld()
}

/** The packages that are loaded from where they are installed. */
function externals() {
  return Object.keys(readJson('package.json').dependencies).filter((name) => !takenIn.includes(name))
}

function readJson(file) {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8'))
}

/** A name for what the files are now. */
function stateOf(sources) {
  const hash = createHash('sha256')
  for (const name of readdirSync(sources, { recursive: true }).sort()) {
    const { mtimeMs, size } = statSync(path.join(sources, name))
    if (name.endsWith('.ts') || name === 'compile.mjs') hash.update(`${name} ${mtimeMs} ${size}\n`)
  }
  for (const name of takenIn) hash.update(`${name} ${readJson(`node_modules/${name}/package.json`).version}\n`)
  return hash.digest('hex').slice(0, 16)
}

function removeOld() {
  for (const name of readdirSync(builds)) {
    const old = path.join(builds, name)
    if (Date.now() - statSync(old).mtimeMs > keptMilliseconds) rmSync(old, { recursive: true, force: true })
  }
}
