// Compiles src/ into .build/, and the pages into its folder web/, whenever it has changed: Node 20 cannot run
// TypeScript, and a loader hook would take 50 MB and half a second at every start.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import path from 'node:path'
import { bundleGraphiql, graphiqlPackage } from './http/graphql/bundle-graphiql.mjs'
import { browserPackages, bundleExplorer } from './web/bundle.mjs'

const root = path.join(import.meta.dirname, '..')
const builds = path.join(root, '.build')
/** Packages that are bundled with tree shaking: every start needs viem's address functions, and the whole package takes 24 MB. */
const bundledPackages = ['viem', '@ponder/utils']
/** How long builds are kept that no process has used: running ones may still load their chunks, and tell so each hour. */
const keptMilliseconds = 24 * 60 * 60 * 1000
const hourMilliseconds = 60 * 60 * 1000

/**
 * Compiles src/ unless its current state is compiled already.
 * @returns path of the program
 */
export async function compiled() {
  // Two folders below the root, like the files of src/, so that relative paths lead to the same files.
  const folder = path.join(builds, digestOf(path.join(root, 'src')))
  const program = path.join(folder, 'main.js')
  if (!existsSync(program)) await compile(folder)
  return program
}

/** Keeps the build of a program, which runs in this process, from being removed by later ones. */
export function keepBuild(program) {
  const keep = () => {
    try {
      utimesSync(path.dirname(program), new Date(), new Date())
    } catch {
      // Where nothing may be written, nothing is removed.
    }
  }
  keep()
  setInterval(keep, hourMilliseconds).unref()
}

async function compile(folder) {
  const { build } = await import('esbuild')
  const unfinished = `${folder}.${process.pid}`
  await build({
    entryPoints: {
      main: path.join(root, 'src/main.ts'),
      'writer-thread': path.join(root, 'src/cli/writers/thread.ts'),
    },
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
  await bundleExplorer(path.join(unfinished, 'web/explorer'))
  await bundleGraphiql(path.join(unfinished, 'web/graphiql'), builds)
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    // Another process has compiled the same state meanwhile.
    if (!existsSync(folder)) throw error
    rmSync(unfinished, { recursive: true })
  }
  removeOld(builds)
}

/** Returns the packages that are loaded from node_modules. */
function externals() {
  return Object.keys(readJson('package.json').dependencies).filter((name) => !bundledPackages.includes(name))
}

function readJson(file) {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8'))
}

/** Returns a digest of the sources' names and contents: a copy of an installation may have other times. */
function digestOf(sources) {
  const hash = createHash('sha256')
  for (const name of readdirSync(sources, { recursive: true }).sort()) {
    if (!/\.(?:tsx?|css|mjs)$/.test(name)) continue
    const source = readFileSync(path.join(sources, name))
    hash.update(`${name} ${source.length}\n`).update(source)
  }
  for (const name of [...bundledPackages, ...browserPackages, graphiqlPackage]) {
    hash.update(`${name} ${readJson(`node_modules/${name}/package.json`).version}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Removes builds from a folder that no process has used for long. */
export function removeOld(folder) {
  for (const name of readdirSync(folder)) {
    const old = path.join(folder, name)
    // Another process that starts may remove it, or rename its unfinished build, meanwhile.
    const found = statSync(old, { throwIfNoEntry: false })
    if (found && Date.now() - found.mtimeMs > keptMilliseconds) rmSync(old, { recursive: true, force: true })
  }
}
