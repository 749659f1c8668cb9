import { expect, test } from 'vitest'
import { copyAndFree, freeBytes } from '../../../src/http/server/capacity/free-bytes.ts'

const megabytes = 64 * 1024 * 1024

test('bytes are freed without the garbage collector', () => {
  const bytes = Buffer.from(new ArrayBuffer(megabytes))
  const { arrayBuffers } = process.memoryUsage()
  freeBytes(bytes)
  expect(arrayBuffers - process.memoryUsage().arrayBuffers).toBeGreaterThan(megabytes / 2)
  expect(bytes).toHaveLength(0)
})

test('bytes that share their memory, and empty buffers, are not freed', () => {
  const shared = Buffer.from('of the pool')
  freeBytes(shared)
  freeBytes(Buffer.alloc(0))
  expect(shared.toString()).toBe('of the pool')
})

test('a copy has the bytes, and their own buffer is freed', () => {
  const bytes = Buffer.from(new TextEncoder().encode('GET / HTTP/1.1').buffer)
  expect(copyAndFree(bytes).toString()).toBe('GET / HTTP/1.1')
  expect(bytes).toHaveLength(0)
})
