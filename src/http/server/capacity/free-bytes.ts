/**
 * Frees bytes that nobody reads any more, in 5 us: their buffer is empty afterwards. The garbage collector frees them late,
 * since it sees a hundred bytes of a buffer of 64 KB. Buffers that share their memory with others are left to it.
 */
export function freeBytes({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  if (byteLength > 0 && byteLength === buffer.byteLength) nowhere.postMessage(null, [buffer])
}

/**
 * Copies the bytes of a small read, and frees the read's own buffer. Node reads into 64 KB and gives back the rest: what
 * is left keeps that hole in the allocator's memory from being used for another read.
 */
export function copyAndFree(bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  const copy = Buffer.from(bytes)
  freeBytes(bytes)
  return copy
}

/** A port whose other end is closed: memory that is transferred to it is freed. */
const nowhere = portToNowhere()

function portToNowhere(): MessagePort {
  const { port1, port2 } = new MessageChannel()
  port2.close()
  return port1
}
