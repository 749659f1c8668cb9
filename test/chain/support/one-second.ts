import type { Hex } from 'viem'
import type { Call, TestChain } from './anvil.ts'

/** Number of times that blocks are mined at most until they are of one second. */
export const maxAttempts = 5

/** The calls of a block; by the number of the attempt, from 0 on, where they can't be made twice. */
type CallsOfBlock = readonly Call[] | ((attempt: number) => readonly Call[])

/**
 * Mines blocks of one second, with a transaction for each call; all are mined again where the node's clock, which goes on,
 * has passed to the next second between them.
 * @returns the time of the second
 */
export async function inOneSecond(chain: TestChain, ...blocks: readonly CallsOfBlock[]): Promise<number> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const times = new Set<bigint>()
    for (const [index, calls] of blocks.entries()) {
      const hashes: Hex[] = []
      for (const call of typeof calls === 'function' ? calls(attempt) : calls) hashes.push(await chain.send(call))
      await chain.mine(1, index === 0 ? 12 : 0)
      for (const hash of hashes) await chain.receiptOf(hash)
      times.add((await chain.client.getBlock()).timestamp)
    }
    const [time, ...others] = times
    if (time !== undefined && others.length === 0) return Number(time)
  }
  throw new Error('no blocks were of one second')
}
