/**
 * Reference system: a `node:http` handler that sends constant response bodies, as an upper limit of what `node:http` can
 * serve. Standard input is a JSON object of bodies by name; the path of a request is `/NAME`. Request bodies are read and
 * discarded. PORT is in the environment.
 */
import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

const bodies = new Map(
  Object.entries(JSON.parse(await text(process.stdin)) as Record<string, string>).map(([name, body]) => [
    `/${name}`,
    Buffer.from(body),
  ]),
)

const server = createServer((request, response) => {
  if (request.method === 'GET') return respond(response, request.url ?? '')
  request.on('data', () => undefined).on('end', () => respond(response, request.url ?? ''))
})
server.listen(Number(process.env['PORT']), '127.0.0.1')

function respond(response: ServerResponse, path: string): void {
  const body = bodies.get(path)
  if (body === undefined) return void response.writeHead(404).end()
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
  response.end(body)
}
