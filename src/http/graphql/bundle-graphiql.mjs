// Prepares GraphiQL's script and style sheet, 9 MB of Yoga's page, and compresses them: the first request for them would
// otherwise take both processor cores for a second.
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Worker } from 'node:worker_threads'

/** The package that renders the page. */
export const graphiqlPackage = '@graphql-yoga/render-graphiql'

const { resolve } = createRequire(import.meta.url)
const files = ['graphiql.js', 'graphiql.css'].flatMap((name) => [name, `${name}.br`, `${name}.gz`])

/**
 * Splits the page into its script, which reads its options from the page's element `options`, and its style sheet, and
 * writes both. In a worker thread: the package takes 70 MB of memory, which are free when the thread ends.
 */
const writeFiles = `
const { writeFileSync } = require('node:fs')
const { join } = require('node:path')
const { brotliCompressSync, constants, gzipSync } = require('node:zlib')
const { workerData } = require('node:worker_threads')
const page = require(workerData.module).renderGraphiQL({})
const style = page.slice(page.indexOf('<style>') + 7, page.indexOf('</style>'))
const script = page.slice(page.indexOf('<script>') + 8, page.lastIndexOf('YogaGraphiQL.renderYogaGraphiQL('))
const start = "YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), " +
  "JSON.parse(document.querySelector('#options').textContent))"
const params = { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT }
for (const [name, text] of [['graphiql.js', script + start], ['graphiql.css', style]]) {
  const file = join(workerData.folder, name)
  writeFileSync(file, text)
  writeFileSync(file + '.br', brotliCompressSync(text, { params }))
  writeFileSync(file + '.gz', gzipSync(text))
}
`

/**
 * Puts the files into a folder, as links to those that were made for the package's version.
 * @param folder that gets the links
 * @param builds folder that keeps the files for other compilations
 */
export async function bundleGraphiql(folder, builds) {
  const module = resolve(graphiqlPackage)
  const { version } = JSON.parse(readFileSync(resolve(`${graphiqlPackage}/package.json`), 'utf8'))
  const made = path.join(builds, `graphiql-${version}`)
  if (!files.every((name) => existsSync(path.join(made, name)))) await make(module, made)
  // Compilations remove folders that have not been used for a day.
  const now = Date.now() / 1000
  utimesSync(made, now, now)
  mkdirSync(folder, { recursive: true })
  for (const name of files) linkSync(path.join(made, name), path.join(folder, name))
}

async function make(module, folder) {
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  const worker = new Worker(writeFiles, { eval: true, workerData: { module, folder: unfinished }, execArgv: [] })
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject))
  try {
    renameSync(unfinished, folder)
  } catch (error) {
    // Another process has made them meanwhile.
    if (!existsSync(folder)) throw error
    rmSync(unfinished, { recursive: true })
  }
}
