import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'
import { commandLine } from '../support/process.ts'

const homes = prepareHomes()
const { start } = commandLine()

test('the gateway continues after the reader of its log has closed the pipe', async () => {
  const { env } = await homes.create()
  const gateway = start(['serve'], { PORT: '0', HOST: '127.0.0.1', ...env })
  const [, origin = ''] = await gateway.says(/GraphiQL {2}(http:\S+)\/graphql/)
  gateway.stopReading('stderr')
  // Each request is a line in the log.
  for (let times = 0; times < 5; times++) {
    expect((await fetch(`${origin}/strategies`)).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  gateway.kill('SIGTERM')
  expect(await gateway.ended).toMatchObject({ status: 0, signal: null })
})
