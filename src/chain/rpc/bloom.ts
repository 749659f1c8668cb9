import { type Hex, hexToBytes, keccak256 } from 'viem'
import type { ChainLog } from './block.ts'

/** Whether a block with this bloom can have logs of the address: false is certain, true is not. */
export function mayHaveLogsOf(bloom: Hex, address: Hex): boolean {
  const bytes = hexToBytes(bloom)
  return bitsOf(address).every(([byte, bit]) => ((bytes[byte] ?? 0) & bit) !== 0)
}

/** The bloom of a block with these logs. */
export function bloomOf(logs: readonly Pick<ChainLog, 'address' | 'topics'>[]): Hex {
  const bytes = new Uint8Array(256)
  for (const { address, topics } of logs) {
    for (const [byte, bit] of [address, ...topics].flatMap(bitsOf)) bytes[byte] = (bytes[byte] ?? 0) | bit
  }
  return `0x${Buffer.from(bytes).toString('hex')}`
}

/** Three bits of 2048, by the yellow paper: the low 11 bits of each of the hash's first three pairs of bytes. */
function bitsOf(value: Hex): [byte: number, bit: number][] {
  const hash = keccak256(value, 'bytes')
  return [0, 2, 4].map((at) => {
    const index = (((hash[at] ?? 0) << 8) | (hash[at + 1] ?? 0)) & 2047
    return [255 - (index >> 3), 1 << (index & 7)]
  })
}
