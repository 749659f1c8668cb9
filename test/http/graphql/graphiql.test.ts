import type { Browser, Page, Response } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoFacts } from '../../../src/feed/demo/demo.ts'
import { exampleQueries } from '../../../src/http/graphql/graphiql.ts'
import { noBrowser, openBrowser } from '../../support/browser.ts'
import { emptyDatabase } from '../../support/database.ts'
import { pageFolders } from '../../support/explorer.ts'
import { gatewayOn, type TestGateway } from '../../support/gateway.ts'
import { serverOf, type TestServer } from '../../support/server.ts'
import { apply, midnight } from '../../support/world.ts'

const tabs = ['Vault', 'Vaults', 'Catalogue']

let gateway: TestGateway

beforeAll(async () => {
  const database = await emptyDatabase()
  await apply(database, demoFacts(midnight))
  gateway = gatewayOn(database, { pageFolders: await pageFolders() })
})

test.each(tabs)('the example query %s answers with data and without errors', async (name) => {
  const { vaults } = await gateway.query<{ vaults: { nodes: { address: string }[] } }>(
    '{ vaults { nodes { address } } }',
  )
  const query = exampleQueries(vaults.nodes[0]?.address ?? '')[tabs.indexOf(name)] ?? ''
  expect(query).toContain(`query ${name} {`)
  const answer = (await (await gateway.post(query)).json()) as { data: Record<string, unknown> }
  expect(answer).not.toHaveProperty('errors')
  expect(Object.values(answer.data).every((value) => value !== null)).toBe(true)
})

test('a query in the link is not written into the page, to prevent script injection', async () => {
  const query = encodeURIComponent('</script><script>alert(1)</script>')
  const page = await gateway.get(`/graphql?query=${query}`, { headers: { accept: 'text/html' } })
  expect(await page.text()).not.toContain('alert(1)')
})

if (noBrowser !== null) console.warn(`GraphiQL is not opened in a browser: ${noBrowser}`)

describe.skipIf(noBrowser !== null)('GraphiQL in a browser', () => {
  let server: TestServer
  let browser: Browser
  let page: Page
  /** Requests of the page, and those that failed. */
  let requested: string[]
  let wrong: string[]

  beforeAll(async () => {
    server = await serverOf(gateway.app)
    browser = await openBrowser()
  })

  afterAll(async () => {
    await browser.close()
    await server.close()
  })

  async function open(path: string): Promise<void> {
    page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    requested = []
    wrong = []
    page.on('request', (request) => requested.push(request.url()))
    page.on('requestfailed', (request) => wrong.push(`${request.url()} failed`))
    page.on('response', (response) => {
      if (response.status() >= 400) wrong.push(`${response.url()} answered ${String(response.status())}`)
    })
    page.on('pageerror', (error) => wrong.push(error.message))
    await page.goto(server.origin + path)
    await page.locator('.graphiql-query-editor .view-line').first().waitFor()
  }

  /** Closes the page, and checks that it requested only this server and that no request failed. */
  async function closeFaultless(): Promise<void> {
    await page.close()
    const elsewhere = requested.filter((url) => !url.replace(/^blob:/, '').startsWith(`${server.origin}/`))
    expect({ elsewhere, wrong }).toEqual({ elsewhere: [], wrong: [] })
    expect(requested).toContain(`${server.origin}/graphql`)
  }

  async function shown(pane: string): Promise<string> {
    const lines = await page.locator(`${pane} .view-line`).allTextContents()
    return lines.join('\n').replaceAll('\u00a0', ' ')
  }

  /** Clicks the execute button, and returns the result when the response pane shows it. */
  async function execute(): Promise<{ data?: Record<string, unknown>; errors?: unknown }> {
    const isAnswer = (response: Response): boolean =>
      response.request().postData()?.includes('IntrospectionQuery') === false && response.url().endsWith('/graphql')
    // GraphiQL parses the operation of a new tab after a moment, and runs nothing until then.
    for (let attempt = 0; attempt < 5; attempt++) {
      const answered = page.waitForResponse(isAnswer, { timeout: 5_000 }).catch(() => null)
      await page.locator('.graphiql-execute-button').click()
      const response = await answered
      if (response === null) continue
      await page.locator('.result-window .view-line', { hasText: '"data"' }).waitFor()
      return (await response.json()) as { data?: Record<string, unknown>; errors?: unknown }
    }
    throw new Error('the execute button runs nothing')
  }

  test('opens with an example query, which shows data when it is run', async () => {
    await open('/graphql')
    const editor = await shown('.graphiql-query-editor')
    expect(editor).toContain('query Vault {')
    expect(editor).not.toContain('Welcome to')
    const { data, errors } = await execute()
    expect(errors).toBeUndefined()
    expect(data?.['vault']).toMatchObject({ status: 'EARNING' })
    expect(await shown('.result-window')).toContain('"status": "EARNING"')
    await closeFaultless()
  })

  test('has a tab for each example query, each of which answers without errors', async () => {
    await open('/graphql')
    expect(await page.locator('.graphiql-tab-button').allTextContents()).toEqual(tabs)
    for (const name of tabs) {
      // By the keyboard: a click may be interpreted as the start of a drag.
      await page.locator('.graphiql-tab-button', { hasText: new RegExp(`^${name}$`) }).press('Enter')
      await page.locator('.graphiql-query-editor .view-line', { hasText: `query ${name} {` }).waitFor()
      const { data, errors } = await execute()
      expect(errors).toBeUndefined()
      expect(Object.values(data ?? {})).not.toHaveLength(0)
    }
    await closeFaultless()
  })

  test('opens a link with its query', async () => {
    await open(`/graphql?query=${encodeURIComponent('{ strategies { id } }')}`)
    expect(await shown('.graphiql-query-editor')).toBe('{ strategies { id } }')
    const { data } = await execute()
    expect(data).toMatchObject({ strategies: [{ id: 'eth-core' }, { id: 'eth-tight' }, {}] })
    await page.close()
  })
})
