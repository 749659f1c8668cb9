import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { explorerContents } from '../../src/http/pages/explorer.ts'
import { graphiqlContents } from '../../src/http/graphql/graphiql.ts'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { pageFolders } from '../support/explorer.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
const kilobyte = 1024

let database: TestDatabase
let folders: Awaited<ReturnType<typeof pageFolders>>
let gateway: TestGateway

beforeAll(async () => {
  database = await emptyDatabase()
  folders = await pageFolders()
  gateway = gatewayOn(database, { pageFolders: folders })
})

function page({ get } = gateway): Promise<Response> {
  return get('/', { headers: { accept: browser } })
}

async function loadedBy(html: string): Promise<readonly Response[]> {
  const paths = Array.from(html.matchAll(/(?:src|href)="(explorer\/[^"]+)"/g), ([, file = '']) => `/${file}`)
  expect(paths).toHaveLength(2)
  return Promise.all(paths.map((file) => gateway.get(file, { headers: { 'accept-encoding': 'br' } })))
}

describe('the page', () => {
  test('has a content security policy that allows its own files only, and nothing inline', async () => {
    const response = await page()
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = response.headers.get('content-security-policy')?.split('; ') ?? []
    expect(policy[0]).toBe("default-src 'none'")
    const sources = policy.flatMap((directive) => directive.split(' ').slice(1))
    expect(sources.filter((source) => !["'none'", "'self'", 'data:'].includes(source))).toEqual([])
    expect(await response.text()).not.toMatch(/https?:|<style| style=|<script(?! type="module" src="explorer\/)/)
  })

  test('is for browsers: other clients get the link set', async () => {
    const response = await gateway.get('/')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(await response.json()).toHaveProperty('linkset')
    expect((await page()).headers.get('vary')).toBe('accept, accept-encoding')
  })

  test('loads at most 150 KB, compressed, with the code of the chart', async () => {
    const files = await loadedBy(await (await page()).text())
    const sizes = await Promise.all(files.map(async (file) => (await file.arrayBuffer()).byteLength))
    const { files: names } = JSON.parse(await readFile(path.join(folders.explorer, 'manifest.json'), 'utf8')) as {
      files: string[]
    }
    const all = await Promise.all(
      names.map(async (name) => (await readFile(path.join(folders.explorer, `${name}.br`))).length),
    )
    const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
    expect(sum(sizes)).toBeGreaterThan(10 * kilobyte)
    expect(sum(all)).toBeGreaterThan(sum(sizes))
    expect(sum(all)).toBeLessThan(150 * kilobyte)
  })

  test('is a page of links if the explorer is disabled', async () => {
    const without = gatewayOn(database, { pageFolders: { ...folders, explorer: null } })
    expect(await (await page(without)).text()).toContain('REST paths')
    for (const response of await loadedBy(await (await page()).text())) expect(response.status).toBe(200)
    const [script = ''] = /explorer\/explorer-\w+\.js/.exec(await (await page()).text()) ?? []
    expect((await without.get(`/${script}`)).status).toBe(404)
  })

  test('and its files need no API key; it shows that data does', async () => {
    const closed = gatewayOn(database, { pageFolders: folders, apiKeys: ['a-key-of-this-test'] })
    const html = await (await page(closed)).text()
    expect(html).toContain('data-api-key="required"')
    expect(await (await page()).text()).not.toContain('data-api-key')
    for (const [, file = ''] of html.matchAll(/(?:src|href)="(explorer\/[^"]+)"/g)) {
      expect((await closed.get(`/${file}`)).status).toBe(200)
    }
  })
})

describe('its files and those of GraphiQL', () => {
  test('are immutable, named by their content, and compressed at the maximum level', async () => {
    for (const response of await loadedBy(await (await page()).text())) {
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(response.headers.get('content-encoding')).toBe('br')
      expect(response.headers.get('etag')).toMatch(/-br"$/)
    }
  })

  test('are the same in each encoding', async () => {
    const { assets } = explorerContents(folders.explorer, true)
    for (const [, make] of [...assets, ...graphiqlContents(folders.graphiql)]) {
      const made = await make()
      const [br, gzip] = await Promise.all([made.compressed('br', 'sender'), made.compressed('gzip', 'sender')])
      expect(brotliDecompressSync(br ?? '').equals(made.bytes)).toBe(true)
      expect(gunzipSync(gzip ?? '').equals(made.bytes)).toBe(true)
    }
  })

  test('refuse other methods, and are 404 under other names', async () => {
    const html = await (await page()).text()
    const [script = ''] = /explorer\/explorer-\w+\.js/.exec(html) ?? []
    expect((await gateway.get(`/${script}`, { method: 'POST' })).status).toBe(405)
    expect((await gateway.get('/explorer/manifest.json')).status).toBe(404)
    expect((await gateway.get(`/${script}.br`)).status).toBe(404)
  })
})
