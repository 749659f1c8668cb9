import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Bytes that the heap holds when all garbage is collected. */
export function heapBytes(): number {
  collect()
  return process.memoryUsage().heapUsed
}

/** Bytes that buffers hold when all garbage is collected. */
export function bufferBytes(): number {
  collect()
  return process.memoryUsage().arrayBuffers
}

function collect(): void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  gc()
  gc()
}
