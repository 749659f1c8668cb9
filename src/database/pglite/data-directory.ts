import { access, constants, mkdir, realpath } from 'node:fs/promises'
import path from 'node:path'

/** The embedded database can't be kept where it is to be. */
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

/** What a cluster is kept in, below the folder that is configured. */
export const clusterName = 'pglite'

const usable = constants.R_OK | constants.W_OK | constants.X_OK

/**
 * Makes the folder of the embedded database where it is missing, and gives its one name.
 * @throws {DataDirUnusable}
 */
export async function usableDataDirectory(dataDir: string): Promise<string> {
  try {
    await mkdir(dataDir, { recursive: true })
    await access(dataDir, usable)
    await access(path.join(dataDir, clusterName), usable).catch(unlessMissing)
    return await realpath(dataDir)
  } catch (error) {
    throw new DataDirUnusable(path.resolve(dataDir), (error as Error).message)
  }
}

function unlessMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
