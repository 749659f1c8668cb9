import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

/** The parts of GraphiQL that are the same for everyone. */
export interface GraphiqlAssets {
  readonly script: Uint8Array
  readonly style: Uint8Array
}

/**
 * Takes Yoga's page apart. The package that makes it takes 70 MB of memory: it is loaded in a thread of its own, which
 * gives the memory back and keeps the event loop free.
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
 * GraphiQL's script, which reads its options from the page's element `options`, and its style sheet.
 * @throws where the package is not as it is known
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
