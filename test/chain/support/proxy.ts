import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A JSON-RPC request. */
export interface RpcRequest {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

export type RpcAnswer =
  { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } }

/** An HTTP response that replaces the JSON-RPC response. */
export interface HttpAnswer {
  readonly status: number
  readonly body: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the body is left unfinished, with the connection open. */
  readonly stalls?: boolean
  /** Whether the connection is closed after the body, without an end of the response. */
  readonly breaksOff?: boolean
}

/** Handles a request of a proxy: forwards it by `pass`, responds in place of the node, or drops the connection. */
export type Intercept = (
  request: RpcRequest,
  pass: (request?: RpcRequest) => Promise<RpcAnswer>,
) => Promise<RpcAnswer | HttpAnswer | 'drop'>

/** Starts an HTTP proxy of a node, which counts requests and can intercept them. */
export async function startProxy(url: string, intercept: Intercept = (_, pass) => pass()) {
  const counts = new Map<string, number>()
  const agent = new Agent({ keepAlive: true })
  const server = createServer((inbound, outbound) => {
    void (async () => {
      const request = JSON.parse(await text(inbound)) as RpcRequest
      counts.set(request.method, (counts.get(request.method) ?? 0) + 1)
      const pass = async (other = request): Promise<RpcAnswer> => {
        return JSON.parse(await post(agent, url, JSON.stringify({ jsonrpc: '2.0', ...other }))) as RpcAnswer
      }
      const answer = await intercept(request, pass)
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
    /** Returns the number of requests by method since the last call. */
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

/** Posts JSON to a node, and returns the body of the response; cheaper than `fetch` for tens of thousands of requests. */
async function post(agent: Agent, url: string, body: string): Promise<string> {
  const sent = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } }).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return text(response)
}
