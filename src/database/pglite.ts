import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import { atomicScripts } from './atomic-scripts.ts'
import type { Cancellation } from './cancellation.ts'
import { untilCancelled } from './cancelled.ts'
import { type LogConnection, pollCommits } from './commit-polling.ts'
import { commitChannel } from './commit-reader.ts'
import type { Database, Read, Snapshots, Transaction, Value } from './database.ts'
import { clusterName, usableFolder } from './folder.ts'
import { PrismaClient } from './generated/client/client.ts'
import { inPieces, isLong } from './in-pieces.ts'
import { type InTurn, inTurn } from './in-turn.ts'
import { lockFolder } from './lock.ts'
import { sharingReads } from './shared-reads.ts'
import { SnapshotReads } from './snapshot-reads.ts'
import { ofFolder, told, tellingOutages } from './outages.ts'
import { preparing } from './prepared.ts'
import { requireRoom } from './room.ts'
import { type Run, Sending } from './sending.ts'
import { unpacked, withPlainRows } from './unpacked.ts'

/**
 * Opens the embedded database. It belongs to one process: a folder that another one has open is refused.
 * @param dataDir its folder, created where it is missing; in memory where none is given
 * @throws {DataDirUnusable}
 * @throws {DataDirInUse}
 * @throws {DatabaseFull} where its disk is
 */
export async function openPGlite(dataDir?: string): Promise<Database> {
  if (dataDir === undefined) return onPGlite(await PGlite.create(), null, () => Promise.resolve())
  const folder = await usableFolder(dataDir)
  const release = await lockFolder(folder)
  try {
    await requireRoom(folder)
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
  const { short, long } = inTurn()
  const run = preparing(pglite)
  return {
    engine: 'pglite',
    prisma,
    listen: (listener) =>
      Promise.resolve(pollCommits({ connect: (wake) => logOf(pglite, wake), ...neverLate }, listener)),
    withEngineAdapter: (work) => work(adapter),
    // A read that has begun holds the whole process, so that nothing could cancel it, and others have to wait.
    ...withPlainRows(
      sharingReads(
        inPieces({
          read: <Row>(read: Read, values: readonly Value[], signal?: Cancellation) =>
            (isLong(read) ? long : short)(
              async () => unpacked<Row>(read, (await pglite.query(read.text, [...values])).rows),
              signal,
            ),
        }),
      ),
    ),
    ...snapshotsInTurn(pglite, long),
    transaction: async (work) => {
      if (folder !== null) await requireRoom(folder)
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
function snapshotsInTurn(pglite: PGlite, long: InTurn): Snapshots {
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
              return await untilCancelled(work(inPieces(reads)), signal)
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
  run: Run,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return pglite.transaction(async () => {
    const sending = new Sending(run)
    const result = await work(sending)
    await sending.end()
    return result
  })
}
