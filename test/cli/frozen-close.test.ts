import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { createOnServer, postgresUrl } from '../support/database.ts'
import { commandLine } from '../support/process.ts'

const { run } = commandLine()

/** Message "Terminate" of a client that closes its connection. */
const terminate = Buffer.from([0x58, 0, 0, 0, 4])

describe.runIf(postgresUrl !== undefined)('a command whose server hangs after its work is done', () => {
  let relay: Server
  let url: string
  const sockets = new Set<Socket>()

  beforeAll(async () => {
    const direct = new URL(await createOnServer(postgresUrl ?? ''))
    await (await openDatabase({ engine: 'postgresql', url: direct.href, connections: 2 })).close()
    relay = createServer({ allowHalfOpen: true }, (client) => {
      const server = connect(Number(direct.port), direct.hostname)
      for (const socket of [client, server]) sockets.add(socket.on('error', () => undefined))
      server.on('data', (bytes) => client.write(bytes))
      // The server does not answer the end of a connection.
      client.on('data', (bytes) => bytes.equals(terminate) || server.write(bytes))
    })
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
    url = Object.assign(new URL(direct.href), { host: `127.0.0.1:${(relay.address() as AddressInfo).port}` }).href
  })
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })

  test.each([
    ['migrate', [], 'No migration is missing.'],
    ['ingest', ['-'], 'applied'],
  ])('exits all the same: %s', async (command, args, said) => {
    const { status, stdout, stderr } = await run([command, ...args], { DATABASE_URL: url })
    expect(stdout + stderr).toContain(said)
    expect(status).toBe(0)
  })
})
