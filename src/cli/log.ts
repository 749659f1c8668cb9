import { pino } from 'pino'
import type { Config } from '../config.ts'
import { probePaths } from '../http/ops/probe-paths.ts'
import type { AnsweredRequest } from '../http/middleware/tracing.ts'

/** The gateway's log: JSON lines, or readable lines on a terminal. */
export interface Log {
  info(message: string, facts?: Facts): void
  warn(message: string, facts?: Facts): void
  error(message: string, facts?: Facts): void
  answered(request: AnsweredRequest): void
}

export type LogLevel = Config['logLevel']

type Facts = Readonly<Record<string, unknown>>

/** Options of {@link createLog}. */
export interface LogOptions {
  readonly level: LogLevel
  /** Texts to mask wherever they occur, such as API keys. */
  readonly secrets: readonly string[]
  /** Number of this worker process, added to each line; null for a single process. */
  readonly worker?: number | null
  readonly output: { readonly isTTY?: boolean; write(text: string): unknown }
}

/** Creates a log. */
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
    // Health probes arrive every few seconds.
    answered: (request) => logger[probePaths.includes(request.route) ? 'debug' : 'info'](request, 'Answered'),
  }
}

/** Masks secrets in a text, except those shorter than 8 characters, which may be part of any word. */
export function maskSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= 8)
    .reduce((safe, secret) => safe.replaceAll(secret, '[hidden]'), text)
}

/**
 * Formats a JSON log line for a terminal: `12:30:01 INFO Answered method=GET route=/strategies`, followed by the stack
 * of an error.
 */
export function formatLogLine(line: string): string {
  const { time, level, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown> & {
    time: string
    level: string
    msg: string
    err?: { stack?: string }
  }
  const fields = Object.entries(facts).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const stack = err === undefined ? [] : [err.stack ?? JSON.stringify(err)]
  return [[time.slice(11, 19), level.toUpperCase(), msg, ...fields].join(' '), ...stack, ''].join('\n')
}
