import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '../support/free-port.ts'
import { type InstalledServer, missing, startInstalled } from '../support/installed-server.ts'

const program = '/usr/sbin/nginx'
const configuration = path.resolve(import.meta.dirname, '../../src/http/cache/edge.nginx.conf')

/** Reason why nginx cannot be started on this machine; null if it can. */
export const noNginx = missing(program, 'nginx-light')

/** A running nginx. */
export interface Nginx extends InstalledServer {
  readonly origin: string
}

/** Starts nginx with the configuration that operators use, as a reverse proxy of a gateway. */
export async function startNginx(gatewayPort: number): Promise<Nginx> {
  const folder = await mkdtemp(path.join(tmpdir(), 'nginx-'))
  const port = await freePort()
  await mkdir(path.join(folder, 'temp'))
  await writeFile(path.join(folder, 'edge.conf'), await adaptedConfiguration(folder, port, gatewayPort))
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path temp/${name};`)
  const main = [
    'daemon off; master_process off; error_log stderr warn; pid nginx.pid; events {}',
    `http { access_log off; ${temps.join(' ')} include edge.conf; }`,
  ]
  await writeFile(path.join(folder, 'nginx.conf'), main.join('\n'))
  const origin = `http://127.0.0.1:${port}`
  const args = ['-p', folder, '-c', 'nginx.conf']
  return { origin, ...(await startInstalled(program, args, folder, () => fetch(`${origin}/metrics`))) }
}

/** Returns the configuration with other addresses and another cache directory. */
async function adaptedConfiguration(folder: string, port: number, gatewayPort: number): Promise<string> {
  const replacements: readonly (readonly [from: string, to: string])[] = [
    ['/var/cache/nginx/vault-gateway', path.join(folder, 'cache')],
    ['server 127.0.0.1:4000;', `server 127.0.0.1:${gatewayPort};`],
    ['listen 80;', `listen 127.0.0.1:${port};`],
  ]
  let text = await readFile(configuration, 'utf8')
  for (const [from, to] of replacements) {
    if (!text.includes(from)) throw new Error(`${configuration} does not contain ${from}`)
    text = text.replace(from, to)
  }
  return text
}
