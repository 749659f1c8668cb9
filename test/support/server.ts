import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { App } from '../../src/http/app.ts'

export interface TestServer {
  readonly port: number
  readonly origin: string
  close(): Promise<void>
}

/** The gateway on a port of its own, for what only a socket shows. */
export async function serverOf(app: App): Promise<TestServer> {
  const server = createServer((request, response) => void app.listener(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    origin: `http://127.0.0.1:${String(port)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      }),
  }
}
