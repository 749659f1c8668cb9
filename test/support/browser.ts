import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const executablePath = '/usr/bin/chromium'

/** Why no browser can be opened here; null where one can, or where the machine's tests must have one. */
export const noBrowser: string | null =
  existsSync(executablePath) || process.env['CI'] === 'true'
    ? null
    : `there is no ${executablePath} here: apt-get install chromium`

/** Chromium without a window, and without what it would ask the network for by itself. */
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
      // Each new window would load a page of the browser's own, before anybody opens it.
      '--disable-features=PreloadTopChromeWebUI',
    ],
  })
}
