/**
 * Frees the memory of an unused buffer in 5 us; the buffer is empty afterwards. The garbage collector frees it late,
 * since it accounts for only a hundred bytes of 64 KB. Buffers that share memory with others are left to the collector.
 */
export function freeBytes({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  if (byteLength > 0 && byteLength === buffer.byteLength) nowhere.postMessage(null, [buffer])
}

/**
 * Copies the bytes of a small read, and frees the read's own buffer. Node allocates 64 KB for a read and returns the
 * rest: the bytes that remain would prevent the allocator from reusing the gap for another read.
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
