import type { Hex } from 'viem'
import type { Call, TestChain } from './anvil.ts'

/** Maximum number of attempts to mine blocks with one timestamp. */
export const maxAttempts = 5

/** The calls of a block; a function of the number of the attempt, from 0, where they can't be repeated. */
type CallsOfBlock = readonly Call[] | ((attempt: number) => readonly Call[])

/**
 * Mines blocks with one timestamp, with a transaction for each call; all are mined again where the node's clock has
 * advanced to the next second between them.
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

/**
 * Mines empty blocks with one timestamp, again where the node's clock has advanced between them.
 * @returns the time of the second
 */
export async function mineSecond(chain: TestChain, blocks: number): Promise<number> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    await chain.mine()
    const { timestamp } = await chain.client.getBlock()
    await chain.mine(blocks - 1, 0)
    const newest = await chain.client.getBlock()
    if (newest.timestamp === timestamp) return Number(timestamp)
  }
  throw new Error('no blocks were of one second')
}
