/**
 * The most that node:http gives: bodies that are there from the start, asked for as the gateway is. They come on
 * standard input, as JSON of name and body; a path names one. The body of a request is read and left alone.
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
  if (request.method === 'GET') return answer(response, request.url ?? '')
  request.on('data', () => undefined).on('end', () => answer(response, request.url ?? ''))
})
server.listen(Number(process.env['PORT']), '127.0.0.1')

function answer(response: ServerResponse, path: string): void {
  const body = bodies.get(path)
  if (body === undefined) return void response.writeHead(404).end()
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length })
  response.end(body)
}
