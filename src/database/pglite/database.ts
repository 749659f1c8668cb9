import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { atomicScripts } from '../prisma/atomic-scripts.ts'
import type { Cancellation } from '../cancellation.ts'
import { untilCancelled } from '../cancellation.ts'
import { type LogConnection, pollCommits } from '../commits/poll-commits.ts'
import { commitChannel } from '../commits/commit-reader.ts'
import type { Database, Read, Snapshots, Transaction, Value } from '../database.ts'
import { clusterName, usableDataDirectory } from './data-directory.ts'
import { PrismaClient } from '../prisma/generated/client/client.ts'
import { chunkedReads, isLong } from '../batching/chunked-reads.ts'
import { type TaskQueue, createTaskQueues } from './task-queue.ts'
import { lockDataDirectory } from './data-directory-lock.ts'
import { batchReads } from '../batching/batch-scheduler.ts'
import { SnapshotReads } from '../snapshot-reads.ts'
import { ofFolder, told, tellingOutages } from '../errors.ts'
import { preparing } from './prepared-statements.ts'
import { requireDiskSpace } from './disk-space.ts'
import { type RunStatement, TransactionQueue } from '../transaction-queue.ts'
import { decodeRows, withPlainRows } from '../decode-rows.ts'

/**
 * Opens the embedded database. It belongs to one process: a folder that another one has open is refused.
 * @param dataDir its folder, created where it is missing; in memory where none is given
 * @throws {DataDirUnusable}
 * @throws {DataDirInUse}
 * @throws {DatabaseFull} where its disk is
 */
export async function openPGlite(dataDir?: string): Promise<Database> {
  if (dataDir === undefined) return onPGlite(await PGlite.create(), null, () => Promise.resolve())
  const folder = await usableDataDirectory(dataDir)
  const release = await lockDataDirectory(folder)
  try {
    await requireDiskSpace(folder)
    return onPGlite(await openCluster(path.join(folder, clusterName)), folder, release)
  } catch (error) {
    await release()
    throw error
  }
}

/** While a new cluster is being made a file beside it says so: a killed process leaves half of one, to be made anew. */
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
 * The interface over a PGlite that is open already.
 * @param folder where it keeps its data; null where it is in memory
 */
export function onPGlite(pglite: PGlite, folder: string | null, release: () => Promise<void>): Database {
  const adapter = atomicScripts(new PrismaPGlite(pglite), (sql) => pglite.exec(sql))
  const outageOf = ofFolder(folder ?? 'memory')
  const prisma = new PrismaClient({ adapter: tellingOutages(adapter, outageOf) })
  const { short, long } = createTaskQueues()
  const run = preparing(pglite)
  return {
    engine: 'pglite',
    prisma,
    listen: (listener) =>
      Promise.resolve(pollCommits({ connect: (wake) => logOf(pglite, wake), ...neverLate }, listener)),
    withEngineAdapter: (work) => work(adapter),
    // A read that has begun holds the whole process, so that nothing could cancel it, and others have to wait.
    ...withPlainRows(
      batchReads(
        chunkedReads({
          read: <Row>(read: Read, values: readonly Value[], signal?: Cancellation) =>
            (isLong(read) ? long : short)(
              async () => decodeRows<Row>(read, (await pglite.query(read.text, [...values])).rows),
              signal,
            ),
        }),
      ),
    ),
    ...snapshotsInTurn(pglite, long),
    transaction: async (work) => {
      if (folder !== null) await requireDiskSpace(folder)
      return told(inTransaction(pglite, run, work), outageOf)
    },
    exclusively: (work) => work(),
    close: async () => {
      await prisma.$disconnect()
      await pglite.close()
      await release()
    },
  }
}

/**
 * Snapshots by transactions, one at a time, while no other read or write runs. What the network brings comes in between
 * its reads, which hold the whole process.
 */
function snapshotsInTurn(pglite: PGlite, long: TaskQueue): Snapshots {
  return {
    snapshot: (work, signal) =>
      long(
        () =>
          pglite.transaction(async (transaction) => {
            const reads = new SnapshotReads(async ({ text }, values) => {
              await nextTurn()
              return untilCancelled(
                transaction.query(text, [...values]).then(({ rows }) => rows),
                signal,
              )
            })
            try {
              return await untilCancelled(work(chunkedReads(reads)), signal)
            } finally {
              reads.end()
            }
          }),
        signal,
      ),
  }
}

/** The log is read in its turn among all else: what is committed in this process meanwhile was not read by anybody. */
const neverLate = { answerMilliseconds: null }

async function logOf(pglite: PGlite, wake: () => void): Promise<LogConnection> {
  const stop = await pglite.listen(commitChannel, wake)
  return {
    read: async ({ text }, values) => (await pglite.query(text, [...values])).rows,
    close: () => stop().catch(() => undefined),
  }
}

/** @param run runs statements while the transaction has the database for itself */
function inTransaction<Result>(
  pglite: PGlite,
  run: RunStatement,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return pglite.transaction(async () => {
    const sending = new TransactionQueue(run)
    const result = await work(sending)
    await sending.end()
    return result
  })
}
