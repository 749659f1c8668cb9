import { NodeFault } from '../errors.ts'
import type { ChainLog, Header } from './block.ts'
import { bloomOf, isCovered } from './bloom.ts'
import type { Node } from './node.ts'

/**
 * Reads all logs of a block. A bloom filter has false positives, but that of all logs must have each bit of the
 * header's.
 * @throws {NodeFault} when logs are missing
 */
export async function readAllLogs(node: Node, { number, hash, logsBloom }: Header): Promise<ChainLog[]> {
  const all = await node.logsOf({}, hash)
  // Some chains have logs that their bloom filters leave out.
  if (isCovered(logsBloom, bloomOf(all))) return all
  throw new NodeFault(`left out logs of block ${number}, by its bloom`)
}

/**
 * Reads all logs of a block, without a gap between the first and the last one: the bloom has the bits of one that is
 * missing where there is another one like it.
 * @throws {NodeFault} when logs are missing
 */
export async function readGaplessLogs(node: Node, block: Header): Promise<ChainLog[]> {
  const all = await readAllLogs(node, block)
  if (all.every(({ logIndex }, index) => logIndex === index)) return all
  throw new NodeFault(`left out logs of block ${block.number}, by their numbers`)
}
