import type { FileHandle } from 'node:fs/promises'
import { UnreadableFeed } from '../errors.ts'
import { parseFact } from '../fact/parse.ts'
import { type Line, readLines } from './lines.ts'
import { contentsOf } from './open-file.ts'

/**
 * Returns the vaults that the first lines of a file open. This takes a small part of the time in which these lines are read again.
 * @param bytes end of these lines in bytes of the decompressed file
 * @returns addresses
 */
export async function readOpenedVaults(handle: FileHandle, bytes: number): Promise<ReadonlySet<string>> {
  const opened = new Set<string>()
  try {
    for await (const lines of readLines(contentsOf(handle), { line: 0, byte: 0 })) {
      const before = lines.filter(({ endByte }) => endByte <= bytes)
      for (const vault of before.flatMap(openedBy)) opened.add(vault)
      if (before.length < lines.length) break
    }
  } catch (error) {
    // What cannot be unpacked comes after these lines.
    if (!(error instanceof UnreadableFeed)) throw error
  }
  return opened
}

/** Returns the vault that a line opens. Of all facts only those of vaults have the key `strategy`, maybe with escaped letters. */
function openedBy({ bytes }: Line): string[] {
  if (!bytes.includes('"strategy"') && !bytes.includes('\\u')) return []
  const parsed = parseFact(bytes)
  return parsed.ok && parsed.fact.kind === 'vault' ? [parsed.fact.vault] : []
}
