import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = '/usr/bin/chromium'

/** Reason to skip tests that need a browser; null if Chromium is installed, and in CI, where they must not be skipped. */
export const noBrowser: string | null =
  existsSync(executablePath) || process.env['CI'] === 'true'
    ? null
    : `${executablePath} is missing: apt-get install chromium`

/** Starts Chromium in headless mode, without its own background requests. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Otherwise each new window preloads a page of the browser's own user interface.
      '--disable-features=PreloadTopChromeWebUI',
    ],
  })
}
