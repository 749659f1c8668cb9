import { pino } from 'pino'
import type { Config } from '../config.ts'
import { probePaths } from '../http/ops/probe-paths.ts'
import type { LineOutput } from './shared-output.ts'
import type { AnsweredRequest } from '../http/middleware/tracing.ts'

/** The gateway's log: JSON lines, or readable lines on a terminal. */
export interface Log {
  info(message: string, facts?: Facts): void
  warn(message: string, facts?: Facts): void
  error(message: string, facts?: Facts): void
  /** Logs an answered request; these lines are written in batches, within {@link maxUnwrittenMilliseconds}. */
  readonly answered: (request: AnsweredRequest) => void
  /** Writes buffered lines: call it before the process ends. */
  flush(): void
}

export type LogLevel = Config['logLevel']

type Facts = Readonly<Record<string, unknown>>

/** A write to a file or pipe costs a fifth of the time of a cached answer, so that batches save time. */
const maxUnwrittenMilliseconds = 20
const maxUnwrittenCharacters = 16_384

/** Bytes that wait for an output which takes none, as a pipe whose reader hangs. Further lines are dropped, and counted. */
const maxWaitingBytes = 16_777_216

/** Options of {@link createLog}. */
export interface LogOptions {
  readonly level: LogLevel
  /** Texts to mask wherever they occur, such as API keys. */
  readonly secrets: readonly string[]
  /** Number of this worker process, added to each line; null for a single process. */
  readonly worker?: number | null
  readonly output: LineOutput
}

/** Creates a log. */
export function createLog({ level, secrets, worker = null, output }: LogOptions): Log {
  const hidden = secrets.map((secret) => JSON.stringify(secret).slice(1, -1))
  const formatted = (line: string): string => {
    const safe = maskSecrets(line, hidden)
    return output.isTTY === true ? formatLogLine(safe) : safe
  }
  let unwritten = ''
  let dropped = 0
  const flush = (): void => {
    if (unwritten === '') return
    const lines = unwritten
    unwritten = ''
    if ((output.writableLength ?? 0) > maxWaitingBytes) {
      dropped += lines.split('\n').length - 1
      return
    }
    output.write(lines)
    if (dropped === 0) return
    const before = dropped
    dropped = 0
    logger.warn({ lines: before }, 'Log lines were dropped: the output took none')
  }
  const write = (line: string): void => {
    unwritten += formatted(line)
    flush()
  }
  const writeLater = (line: string): void => {
    if (unwritten === '') setTimeout(flush, maxUnwrittenMilliseconds).unref()
    unwritten += formatted(line)
    if (unwritten.length > maxUnwrittenCharacters) flush()
  }
  const base = worker === null ? null : { worker }
  const formatters = { level: (label: string) => ({ level: label }) }
  const options = { level, base, timestamp: pino.stdTimeFunctions.isoTime, formatters }
  const logger = pino(options, { write })
  const requestLogger = pino(options, { write: writeLater })
  return {
    info: (message, facts = {}) => logger.info(facts, message),
    warn: (message, facts = {}) => logger.warn(facts, message),
    error: (message, facts = {}) => logger.error(facts, message),
    // Health probes arrive every few seconds.
    answered: (request) => requestLogger[probePaths.includes(request.route) ? 'debug' : 'info'](request, 'Answered'),
    flush() {
      flush()
      output.flush?.()
    },
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
