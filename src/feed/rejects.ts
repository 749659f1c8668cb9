import { type FileHandle, open } from 'node:fs/promises'
import type { Flaw } from './errors.ts'
import type { Line } from './lines.ts'

/** Where bad lines are set aside, each whole and with its reason. */
export interface Rejects {
  readonly file: string
  add(rejected: readonly { line: Line; flaw: Flaw }[]): Promise<void>
  close(): Promise<void>
}

/**
 * A file of JSON lines `{ line, key, reason, text }`, made when the first bad line comes; a line that isn't UTF-8
 * stands as `base64` instead of `text`.
 * @param flags `w` for a feed that is read from its beginning, `a` for one that is followed
 */
export function rejectsFile(file: string, flags: 'w' | 'a'): Rejects {
  let handle: FileHandle | undefined
  return {
    file,
    async add(rejected) {
      if (rejected.length === 0) return
      handle ??= await open(file, flags)
      await handle.write(rejected.map(({ line, flaw }) => `${JSON.stringify(entry(line, flaw))}\n`).join(''))
    },
    async close() {
      await handle?.close()
    },
  }
}

function entry({ number, bytes, length }: Line, { key, reason }: Flaw): Record<string, unknown> {
  const text = bytes.toString('utf8')
  const content = Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString('base64') }
  const cut = bytes.length < length ? { cutFromBytes: length } : {}
  return { line: number, key, reason, ...cut, ...content }
}
