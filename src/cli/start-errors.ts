import { BadChainConfig, ChainError } from '../chain/errors.ts'
import { BadConfig } from '../config.ts'
import { DatabaseFull, DatabaseRefused, DatabaseUnavailable, DatabaseUnreachable } from '../database/errors.ts'
import { DataDirUnusable } from '../database/pglite/data-directory.ts'
import { DataDirInUse } from '../database/pglite/data-directory-lock.ts'
import { BadFact, UnreadableFeed, UnrepeatableFeed, UnwritableRejects } from '../feed/errors.ts'
import { CannotListen } from '../http/server/cannot-listen.ts'
import { BadUsage } from './commands/usage.ts'
import { BadManifest } from './persisted-operations/manifest.ts'
import { WorkerFailed } from './workers/supervisor.ts'

/** Returns whether an error is about the command line or the configuration. */
export function isUsageError(error: unknown): boolean {
  return [BadUsage, BadConfig, BadChainConfig, BadManifest].some((kind) => error instanceof kind)
}

/** Returns whether an error's message is sufficient for the operator, without a stack trace. */
export function hasSufficientMessage(error: unknown): error is Error {
  const sufficient = [
    ...[BadUsage, BadConfig, BadManifest, DataDirUnusable, DataDirInUse, CannotListen, WorkerFailed],
    ...[
      DatabaseUnreachable,
      DatabaseUnavailable,
      DatabaseRefused,
      DatabaseFull,
      BadFact,
      UnreadableFeed,
      UnrepeatableFeed,
      UnwritableRejects,
    ],
  ]
  return error instanceof ChainError || sufficient.some((kind) => error instanceof kind)
}

/** Returns the message of such an error, with the reason for which a database that is read does not answer. */
export function sufficientMessage(error: Error): string {
  if (!(error instanceof DatabaseUnavailable) || !(error.cause instanceof Error)) return error.message
  const { message } = error.cause
  return error.message.includes(message) ? error.message : `${error.message} ${message}`
}
