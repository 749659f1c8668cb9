import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../support/free-port.ts'

const program = '/usr/sbin/nginx'
const configuration = path.resolve(import.meta.dirname, '../../src/http/cache/edge.nginx.conf')

/** Why nginx can't be started here; null where it can, or where the machine's tests must have it. */
export const noNginx: string | null =
  isExecutable(program) || process.env['CI'] === 'true' ? null : `there is no ${program}: apt-get install nginx-light`

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface Nginx {
  readonly origin: string
  /** Ends it, and takes its folder away. */
  remove(): Promise<void>
}

/** Starts nginx with the configuration for operators, in front of a gateway. */
export async function startNginx(gatewayPort: number): Promise<Nginx> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nginx-'))
  const port = await freePort()
  await mkdir(path.join(folder, 'temp'))
  await writeFile(path.join(folder, 'edge.conf'), await configured(folder, port, gatewayPort))
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path temp/${name};`)
  const main = [
    'daemon off; master_process off; error_log stderr warn; pid nginx.pid; events {}',
    `http { access_log off; ${temps.join(' ')} include edge.conf; }`,
  ]
  await writeFile(path.join(folder, 'nginx.conf'), main.join('\n'))
  const running = spawn(program, ['-p', folder, '-c', 'nginx.conf'], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  running.stderr.on('data', (chunk) => (said += String(chunk)))
  const ended = once(running, 'close')
  const origin = `http://127.0.0.1:${port}`
  for (let tries = 0; !(await answers(origin)); tries++) {
    if (running.exitCode !== null || tries === 200) throw new Error(`nginx did not start: ${said}`)
    await wait(25)
  }
  return {
    origin,
    async remove() {
      running.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}

/** The configuration with other addresses and another folder. */
async function configured(folder: string, port: number, gatewayPort: number): Promise<string> {
  const replaced: readonly (readonly [was: string, is: string])[] = [
    ['/var/cache/nginx/vault-gateway', path.join(folder, 'cache')],
    ['server 127.0.0.1:4000;', `server 127.0.0.1:${gatewayPort};`],
    ['listen 80;', `listen 127.0.0.1:${port};`],
  ]
  let text = await readFile(configuration, 'utf8')
  for (const [was, is] of replaced) {
    if (!text.includes(was)) throw new Error(`${configuration} has no ${was}`)
    text = text.replace(was, is)
  }
  return text
}

async function answers(origin: string): Promise<boolean> {
  try {
    await fetch(`${origin}/metrics`)
    return true
  } catch {
    return false
  }
}
