import path from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Exports of src/compile.mjs. */
interface Compiler {
  compiled(): Promise<string>
}

/** Returns the folders of the compiled pages; compiles them if they are missing. */
export async function pageFolders(): Promise<{ readonly graphiql: string; readonly explorer: string }> {
  const compiler = path.resolve(import.meta.dirname, '../../src/compile.mjs')
  const { compiled } = (await import(compiler)) as Compiler
  const folder = path.join(path.dirname(await compiled()), 'web')
  return { graphiql: path.join(folder, 'graphiql'), explorer: path.join(folder, 'explorer') }
}

/** An open page of the explorer. */
export interface ExplorerPage {
  readonly page: Page
  /** Closes the page; fails if it has logged to the console, thrown an error, or sent a request to another host. */
  closeFaultless(): Promise<void>
}

export interface PageOptions {
  readonly colorScheme?: 'light' | 'dark'
  readonly width?: number
}

/**
 * Opens the explorer, and waits for its heading.
 * @param query of the URL, with its question mark
 */
export async function openExplorer(
  browser: Browser,
  origin: string,
  query = '',
  { colorScheme = 'light', width = 1_280 }: PageOptions = {},
): Promise<ExplorerPage> {
  const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 }, locale: 'en-US' })
  page.setDefaultTimeout(20_000)
  const faults: string[] = []
  page.on('console', (message) => faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(url)) faults.push(url)
  })
  await page.goto(`${origin}/${query}`)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return {
    page,
    async closeFaultless() {
      await page.close()
      expect(faults).toEqual([])
    },
  }
}

/** Returns the rows of a table by its name; the first one is the header. */
export function rowsOf(page: Page, table: string): Locator {
  return page.getByRole('table', { name: table, exact: true }).getByRole('row')
}
