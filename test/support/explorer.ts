import path from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

interface Compiler {
  compiled(): Promise<string>
}

/** Folders of the pages' files, which are made where they are missing. */
export async function pageFolders(): Promise<{ readonly graphiql: string; readonly explorer: string }> {
  const compiler = path.resolve(import.meta.dirname, '../../src/compile.mjs')
  const { compiled } = (await import(compiler)) as Compiler
  const folder = path.join(path.dirname(await compiled()), 'web')
  return { graphiql: path.join(folder, 'graphiql'), explorer: path.join(folder, 'explorer') }
}

/** A page of the explorer, which must have no fault when it is closed. */
export interface ExplorerPage {
  readonly page: Page
  /** Closes the page, where nothing was written to the console, and nothing asked of another host. */
  closeFaultless(): Promise<void>
}

export interface PageOptions {
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
}

/** Opens the explorer. */
export async function openExplorer(
  browser: Browser,
  origin: string,
  query = '',
  { colorScheme = 'light', width = 1_280 }: PageOptions = {},
): Promise<ExplorerPage> {
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 }, locale: 'en-US' })
  page.setDefaultTimeout(20_000)
  const wrong: string[] = []
  page.on('console', (message) => wrong.push(message.text()))
  page.on('pageerror', (error) => wrong.push(error.message))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(url)) wrong.push(url)
  })
  await page.goto(`${origin}/${query}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return {
    page,
    async closeFaultless() {
      await page.close()
      expect(wrong).toEqual([])
    },
  }
}

/** The rows of a table of the explorer, the first of which is its head. */
export function rowsOf(page: Page, table: string): Locator {
  return page.getByRole('table', { name: table, exact: true }).getByRole('row')
}
