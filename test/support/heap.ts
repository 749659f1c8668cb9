import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Returns the used bytes of the heap after garbage collection. */
export function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

/** Returns the bytes of ArrayBuffers after garbage collection. */
export function bufferBytes(): number {
  collect()
  return process.memoryUsage().arrayBuffers
}

/** Runs two full garbage collections. */
function collect(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  gc()
}
