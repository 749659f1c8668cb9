import { spawn } from 'node:child_process'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { prepareHomes } from '../support/home.ts'

const root = path.resolve(import.meta.dirname, '../..')
const homes = prepareHomes()

test.each([
  ['npm alone', 'sh', 'SIGTERM', false],
  ['the whole process group, which ends the shell', 'sh', 'SIGTERM', true],
  ['the whole process group, and npm passes it on', 'bash', 'SIGINT', true],
] as const)('npm start stops with all that it has begun on a signal to %s', async (_, shell, signal, toGroup) => {
  const { env } = await homes.create()
  const npm = spawn('npm', ['start'], {
    cwd: root,
    detached: true,
    env: { ...process.env, npm_config_script_shell: shell, PORT: '0', HOST: '127.0.0.1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  // The gateway inherits these pipes: they close when it has ended.
  const ended = new Promise((resolve) => npm.once('close', resolve))
  try {
    await expect.poll(() => output, { timeout: 60_000 }).toMatch(/GraphiQL {2}http/)
    process.kill(toGroup ? -(npm.pid ?? 0) : (npm.pid ?? 0), signal)
    await Promise.race([ended, wait(60_000)])
    expect(output).toMatch(/"msg":"Stopping.*"msg":"Stopped"/s)
  } finally {
    try {
      process.kill(-(npm.pid ?? 0), 'SIGKILL')
    } catch {
      // All processes of the group have ended.
    }
    await ended
  }
})
