import { pino } from 'pino'
import type { Config } from '../config.ts'
import { isProbe } from '../http/ops/probe-paths.ts'
import type { AnsweredRequest } from '../http/middleware/tracing.ts'

/** Where the gateway tells what it does: a line each, as JSON, or for people on a terminal. */
export interface Log {
  info(message: string, facts?: Facts): void
  warn(message: string, facts?: Facts): void
  error(message: string, facts?: Facts): void
  answered(request: AnsweredRequest): void
}

export type LogLevel = Config['logLevel']

type Facts = Readonly<Record<string, unknown>>

export interface LogOptions {
  readonly level: LogLevel
  /** Texts that are masked wherever they turn up, such as keys. */
  readonly secrets: readonly string[]
  /** The number of this process where several serve one port: it stands in each line. */
  readonly worker?: number | null
  readonly output: { readonly isTTY?: boolean; write(text: string): unknown }
}

export function createLog({ level, secrets, worker = null, output }: LogOptions): Log {
  const hidden = secrets.map((secret) => JSON.stringify(secret).slice(1, -1))
  const write = (line: string): void => {
    const safe = maskSecrets(line, hidden)
    output.write(output.isTTY === true ? formatLogLine(safe) : safe)
  }
  const base = worker === null ? null : { worker }
  const formatters = { level: (label: string) => ({ level: label }) }
  const logger = pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime, formatters }, { write })
  return {
    info: (message, facts = {}) => logger.info(facts, message),
    warn: (message, facts = {}) => logger.warn(facts, message),
    error: (message, facts = {}) => logger.error(facts, message),
    // Probes come every few seconds, and tell nothing while all is well.
    answered: (request) => logger[isProbe({ path: request.route }) ? 'debug' : 'info'](request, 'Answered'),
  }
}

/** A text without the secrets in it; those of fewer than 8 characters stay, for they may be part of any word. */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= 8)
    .reduce((safe, secret) => safe.replaceAll(secret, '[hidden]'), text)
}

/** `12:30:01 INFO Answered method=GET route=/strategies`, and below it the stack of an error. */
export function formatLogLine(line: string): string {
  const { time, level, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown> & {
    time: string
    level: string
    msg: string
    err?: { stack?: string }
  }
  const said = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const stack = err === undefined ? [] : [err.stack ?? JSON.stringify(err)]
  return [[time.slice(11, 19), level.toUpperCase(), msg, ...said].join(' '), ...stack, ''].join('\n')
}
