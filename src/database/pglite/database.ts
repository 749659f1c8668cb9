import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { atomicScripts } from '../prisma/atomic-scripts.ts'
import { untilCancelled } from '../cancellation.ts'
import { type LogConnection, pollCommits } from '../commits/poll-commits.ts'
import { commitChannel } from '../commits/commit-reader.ts'
import type { Database, Snapshots, Transaction } from '../database.ts'
import { clusterFolderName, usableDataDirectory } from './data-directory.ts'
import { PrismaClient } from '../prisma/generated/client/client.ts'
import { createTaskQueues, queuedReader, type TaskQueue } from './task-queue.ts'
import { lockDataDirectory } from './data-directory-lock.ts'
import { SnapshotReads } from '../snapshot-reads.ts'
import { classifyEmbeddedError, rejectWithOutage, adapterWithOutages } from '../driver-errors.ts'
import { createStatementRunner, type StatementRunner } from './prepared-statements.ts'
import { requireDiskSpace } from './disk-space.ts'
import { composeReads, chunkReads } from '../read-path.ts'
import { TransactionQueue } from '../transaction-queue.ts'

/**
 * Opens the embedded database. A data directory belongs to one process at a time.
 * @param dataDir data directory, created where it is missing; the database is in memory without one
 * @throws {DataDirUnusable} when the directory cannot be created, read or written
 * @throws {DataDirInUse} when another process has it open
 * @throws {DatabaseFull} when its disk has too little free space
 */
export async function openPGlite(dataDir?: string): Promise<Database> {
  if (dataDir === undefined) return onPGlite(await PGlite.create(), null, () => Promise.resolve())
  const folder = await usableDataDirectory(dataDir)
  const release = await lockDataDirectory(folder)
  try {
    await requireDiskSpace(folder)
    return onPGlite(await openCluster(path.join(folder, clusterFolderName)), folder, release)
  } catch (error) {
    await release()
    throw error
  }
}

/**
 * Opens or creates a cluster. A marker file exists while it is created: an incomplete cluster of a killed process is
 * deleted.
 */
async function openCluster(folder: string): Promise<PGlite> {
  const unfinished = `${folder}.unfinished`
  if (existsSync(unfinished)) await rm(folder, { recursive: true, force: true })
  else if (existsSync(folder)) return PGlite.create({ dataDir: folder })
  await writeFile(unfinished, 'The folder beside this file is being made, or its making was cut short.\n')
  const pglite = await PGlite.create({ dataDir: folder })
  await rm(unfinished)
  return pglite
}

/**
 * Implements the database interface on an open PGlite.
 * @param folder its data directory; null where it is in memory
 * @param release called after closing
 */
export function onPGlite(pglite: PGlite, folder: string | null, release: () => Promise<void>): Database {
  const adapter = atomicScripts(new PrismaPGlite(pglite), (sql) => pglite.exec(sql))
  const toOutage = classifyEmbeddedError(folder ?? 'memory')
  const prisma = new PrismaClient({ adapter: adapterWithOutages(adapter, toOutage) })
  const queues = createTaskQueues()
  const statements = createStatementRunner(pglite)
  return {
    engine: 'pglite',
    prisma,
    listen: (listener) =>
      Promise.resolve(pollCommits({ connect: (wake) => openLogConnection(pglite, wake), ...noTimeout }, listener)),
    withEngineAdapter: (work) => work(adapter),
    ...composeReads('pglite', queuedReader(queues, statements)),
    ...serialSnapshots(pglite, queues.long, statements),
    transaction: async (work) => {
      if (folder !== null) await requireDiskSpace(folder)
      return rejectWithOutage(runTransaction(pglite, statements, work), toOutage)
    },
    exclusively: (work) => work(),
    close: async () => {
      statements.close()
      await prisma.$disconnect()
      await pglite.close()
      await release()
    },
  }
}

/**
 * Returns snapshots by transactions, one at a time, while no other read or write runs. The event loop runs between
 * their reads, each of which blocks the whole process.
 */
function serialSnapshots(pglite: PGlite, long: TaskQueue, statements: StatementRunner): Snapshots {
  return {
    snapshotsAtOnce: 1,
    snapshot: (work, signal) =>
      long(
        () =>
          pglite.transaction(async () => {
            const reads = new SnapshotReads(async (read, values) => {
              await nextIteration()
              return untilCancelled(statements.readInTransaction(read, values), signal)
            })
            try {
              return await untilCancelled(work(chunkReads(reads)), signal)
            } finally {
              reads.end()
            }
          }),
        signal,
      ),
  }
}

/**
 * Polls of the log wait for PGlite's own lock, as all statements do, and need no timeout: only this process can commit
 * meanwhile.
 */
const noTimeout = { answerMilliseconds: null }

async function openLogConnection(pglite: PGlite, wake: () => void): Promise<LogConnection> {
  const stop = await pglite.listen(commitChannel, wake)
  return {
    read: async ({ text }, values) => (await pglite.query(text, [...values])).rows,
    close: () => stop().catch(() => undefined),
  }
}

/** @param statements runs statements while the transaction has exclusive access to the database */
function runTransaction<Result>(
  pglite: PGlite,
  statements: StatementRunner,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return pglite.transaction(async () => {
    const queue = new TransactionQueue(statements.run, statements.copy)
    const result = await work(queue)
    await queue.end()
    return result
  })
}
