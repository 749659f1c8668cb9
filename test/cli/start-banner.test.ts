import { expect, test } from 'vitest'
import { startBanner } from '../../src/cli/start-banner.ts'
import { DatabaseRefused, DatabaseUnavailable, ReadCancelled } from '../../src/database/errors.ts'

const config = { host: null, apiKeys: [], explorer: true }
const failing = (error: Error) => ({ query: () => Promise.reject(error) })

test('the start banner has no vault if the database is unavailable', async () => {
  const text = await startBanner(failing(new DatabaseUnavailable(new Error('it is out'))), 4000, config)
  expect(text).not.toContain(':address')
  expect(text.split('\n')).toEqual([
    'Explorer  http://localhost:4000/',
    'GraphiQL  http://localhost:4000/graphql',
    'curl -s http://localhost:4000/strategies',
    'curl -s http://localhost:4000/universe',
    'curl -s http://localhost:4000/universe/pairs',
    'No vault is known yet. Once one is: /vault/ADDRESS/snapshot, /vault/ADDRESS/equity, /vault/ADDRESS/events',
  ])
})

test('the start banner has no explorer if it is disabled', async () => {
  const text = await startBanner(failing(new DatabaseUnavailable(new Error('it is out'))), 4000, {
    ...config,
    explorer: false,
  })
  expect(text).toMatch(/^GraphiQL /)
})

test('the start banner has no vault if its read was cancelled, such as while a lock delays it', async () => {
  expect(await startBanner(failing(new ReadCancelled()), 4000, config)).toContain('No vault is known yet.')
})

test('the start banner has no vault if the database refuses the read, or reports another error', async () => {
  const corrupted = Object.assign(new Error('invalid page in block 0'), { code: 'XX001', severity: 'ERROR' })
  for (const error of [new DatabaseRefused('permission denied for table vault'), corrupted])
    expect(await startBanner(failing(error), 4000, config)).toContain('No vault is known yet.')
})

test('the start banner does not hide other errors', async () => {
  await expect(startBanner(failing(new TypeError('a fault')), 4000, config)).rejects.toThrow('a fault')
})
