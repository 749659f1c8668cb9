import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request as a node gets it. */
export interface RpcRequest {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

export type RpcAnswer =
  { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } }

/** An answer of HTTP in place of one of JSON-RPC. */
export interface HttpAnswer {
  readonly status: number
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Whether more of the body seems to come, and never does. */
  readonly stalls?: boolean
  /** Whether the connection ends behind the body. */
  readonly breaksOff?: boolean
}

/** Behaviour of a proxy for a request: an answer of its own, the node's answer changed, or none at all. */
export type Meddle = (
  request: RpcRequest,
  pass: (request?: RpcRequest) => Promise<RpcAnswer>,
) => Promise<RpcAnswer | HttpAnswer | 'drop'>

/** Stands before a node, and counts and meddles. */
export async function startProxy(url: string, meddle: Meddle = (_, pass) => pass()) {
  const counts = new Map<string, number>()
  const agent = new Agent({ keepAlive: true })
  const server = createServer((inbound, outbound) => {
    void (async () => {
      const request = JSON.parse(await text(inbound)) as RpcRequest
      counts.set(request.method, (counts.get(request.method) ?? 0) + 1)
      const pass = async (other = request): Promise<RpcAnswer> => {
        return JSON.parse(await post(agent, url, JSON.stringify({ jsonrpc: '2.0', ...other }))) as RpcAnswer
      }
      const answer = await meddle(request, pass)
      if (answer === 'drop') return void outbound.destroy()
      outbound.setHeader('content-type', 'application/json')
      if ('status' in answer) {
        outbound.statusCode = answer.status
        for (const [name, value] of Object.entries(answer.headers ?? {})) outbound.setHeader(name, value)
        if (answer.breaksOff === true) return void outbound.write(answer.body, () => outbound.destroy())
        return void (answer.stalls === true ? outbound.write(answer.body) : outbound.end(answer.body))
      }
      outbound.end(JSON.stringify({ ...answer, jsonrpc: '2.0', id: request.id }))
    })().catch(() => outbound.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Requests by method since the last time this was asked. */
    takeCounts(): Record<string, number> {
      const taken = Object.fromEntries(counts)
      counts.clear()
      return taken
    },
    close: async () => {
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Sends JSON to a node, and returns what it answers, with less work than `fetch`: tests send ten thousands of requests. */
async function post(agent: Agent, url: string, body: string): Promise<string> {
  const sent = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } }).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return text(response)
}
