/* LEB128: integers of any length, 7 bits a byte, the least significant first; the eighth bit is set in all bytes but the last. */

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)

/** Appends a non-negative integer. */
export function pushVarint(bytes: number[], value: bigint): void {
  let rest = value
  while (rest > maxSafe) {
    bytes.push(Number(rest & 127n) | 128)
    rest >>= 7n
  }
  let small = Number(rest)
  while (small > 127) {
    bytes.push((small % 128) | 128)
    small = Math.floor(small / 128)
  }
  bytes.push(small)
}

/** Returns the zigzag encoding of a signed integer: non-negative, and small for a value near 0. */
export function zigzag(value: number): bigint {
  return BigInt(value < 0 ? -2 * value - 1 : 2 * value)
}

/** Reads integers in sequence. */
export class VarintReader {
  constructor(
    readonly bytes: Uint8Array,
    public at: number,
  ) {}

  /** Whether all of the bytes were read. */
  get isAtEnd(): boolean {
    return this.at >= this.bytes.length
  }

  /** @throws if the bytes end before the integer does */
  next(): bigint {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new Error('The stored state of a point ends too early')
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
  }

  /** Reads an integer that {@link zigzag} encoded. */
  nextSigned(): number {
    const value = Number(this.next())
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
}
