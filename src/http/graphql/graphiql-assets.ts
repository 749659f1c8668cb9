import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

/** The static files of GraphiQL. */
export interface GraphiqlAssets {
  readonly script: Uint8Array
  readonly style: Uint8Array
}

/**
 * Worker script that splits Yoga's GraphiQL page into script and style sheet. The package that renders the page takes
 * 70 MB of memory: a worker thread frees it when it ends, and does not block the event loop.
 */
const takeApart = `
const { parentPort, workerData } = require('node:worker_threads')
const page = require(workerData).renderGraphiQL({})
const style = page.slice(page.indexOf('<style>') + 7, page.indexOf('</style>'))
const script = page.slice(page.indexOf('<script>') + 8, page.lastIndexOf('YogaGraphiQL.renderYogaGraphiQL('))
const start = "YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), " +
  "JSON.parse(document.querySelector('#options').textContent))"
parentPort.postMessage({ style: Buffer.from(style), script: Buffer.from(script + start) })
`

/**
 * Extracts GraphiQL's script, which reads its options from the page's element `options`, and its style sheet.
 * @throws if the page of the package has another structure
 */
export function graphiqlAssets(): Promise<GraphiqlAssets> {
  const workerData = createRequire(import.meta.url).resolve('@graphql-yoga/render-graphiql')
  const worker = new Worker(takeApart, { eval: true, workerData, execArgv: [] })
  return new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('The thread that makes GraphiQL ended before')))
  })
}
