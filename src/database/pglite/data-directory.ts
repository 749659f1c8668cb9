import { access, constants, mkdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'

/** The data directory of the embedded database cannot be used. */
export class DataDirUnusable extends Error {
  constructor(
    readonly folder: string,
    reason: string,
  ) {
    super(
      `The embedded database can't be kept in ${folder}: ${reason}. ` +
        'Set DATA_DIR to a folder that this user may write to, or to where one can be made.',
    )
    this.name = 'DataDirUnusable'
  }
}

/** Name of the PGlite cluster inside the data directory. */
export const clusterFolderName = 'pglite'

const usable = constants.R_OK | constants.W_OK | constants.X_OK

/**
 * Creates the data directory where it is missing.
 * @returns its canonical absolute path
 * @throws {DataDirUnusable} when it cannot be created, read or written
 */
export async function usableDataDirectory(dataDir: string): Promise<string> {
  try {
    await makeFolder(path.resolve(dataDir))
    await access(dataDir, usable)
    await access(path.join(dataDir, clusterFolderName), usable).catch(unlessMissing)
    return await realpath(dataDir)
  } catch (error) {
    throw new DataDirUnusable(path.resolve(dataDir), (error as Error).message)
  }
}

/** Makes a folder and the missing ones above it. Node 20's recursive `mkdir` never ends where a folder exists in which none can be made. */
async function makeFolder(folder: string): Promise<void> {
  const error = await failureOf(mkdir(folder))
  if (error === null || (await isFolder(folder))) return
  if (error.code !== 'ENOENT') throw error
  const parent = path.dirname(folder)
  if (!(await isFolder(parent))) await makeFolder(parent)
  // Where the parent is there now, another process may have made it meanwhile.
  const lasting = await failureOf(mkdir(folder))
  if (lasting !== null && !(await isFolder(folder))) throw lasting
}

/** Returns why work failed; null where it succeeded. */
function failureOf(work: Promise<unknown>): Promise<NodeJS.ErrnoException | null> {
  return work.then(
    () => null,
    (error: unknown) => error as NodeJS.ErrnoException,
  )
}

async function isFolder(name: string): Promise<boolean> {
  const found = await stat(name).catch(() => null)
  return found?.isDirectory() === true
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
