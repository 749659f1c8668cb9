import type { App } from '../../src/http/app.ts'
import { type HttpLimits, defaultHttpLimits } from '../../src/limits.ts'
import { listen, type ServerOptions } from '../../src/http/server/server.ts'

/** A running HTTP server of the gateway. */
export interface TestServer {
  readonly port: number
  readonly origin: string
  /** Returns the number of requests that are not answered yet. */
  running(): number
  close(): Promise<void>
}

/** Starts the HTTP server of a gateway on a free port, for tests that need sockets. */
export async function serverOf(
  app: Pick<App, 'listener'>,
  limits: Partial<HttpLimits> = {},
  options: Partial<ServerOptions> = {},
): Promise<TestServer> {
  let running = 0
  const server = await listen({
    listener: (request, response) => {
      running++
      response.once('close', () => running--)
      return app.listener(request, response)
    },
    onError: (error) => {
      throw error
    },
    port: 0,
    host: '127.0.0.1',
    limits: { ...defaultHttpLimits, ...limits },
    ...options,
  })
  return {
    port: server.port,
    origin: `http://127.0.0.1:${String(server.port)}`,
    running: () => running,
    close: async () => void (await server.close(0)),
  }
}
