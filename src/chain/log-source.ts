import { type Address, getAddress } from 'viem'
import type { Header, ChainLog } from './rpc/block.ts'
import { bloomOf, mayHaveLogsOf } from './rpc/bloom.ts'
import { NodeFault } from './errors.ts'
import { inChunks } from './rpc/arrays.ts'
import type { Holdings } from './valuation/holdings.ts'
import type { LogFilter, Node } from './rpc/node.ts'
import { sortLogs, type RangeWidth, readHistory } from './rpc/log-ranges.ts'
import type { Rpc } from './rpc/rpc.ts'
import { vaultTopics } from './vaults/vault-events.ts'

/** Reads the logs about vaults. */
export interface LogSource {
  /** Reads the logs of a range of old blocks. */
  inRange(from: number, to: number, width: RangeWidth): Promise<ChainLog[]>
  /** Reads the logs of one block, and whether its bloom filter proves that they are complete. */
  ofBlock(block: Header): Promise<{ logs: ChainLog[]; isWhole: boolean }>
}

/** Maximum number of addresses in a filter that providers accept. */
const maxAddresses = 200

/** Creates a source for the logs of vaults and of their positions. */
export function createLogSource(rpc: Rpc, vaults: readonly Address[], holdings: Holdings): LogSource {
  const { venue } = holdings
  const vaultFilters = inChunks(vaults, maxAddresses).map((address): LogFilter => ({ address, topics: [vaultTopics] }))

  return {
    async inRange(from, to, width) {
      const changes = await readHistory(rpc, [...vaultFilters, ...venue.movesOf(vaults)], from, to, width)
      const arrived = changes.flatMap((log) => venue.readLog(log)?.id ?? [])
      const ids = new Set([...holdings.ids, ...arrived])
      return sortLogs([...changes, ...(await readHistory(rpc, venue.changesOf([...ids]), from, to, width))])
    },
    ofBlock: (block) => rpc.ask((node) => readBlock(node, block)),
  }

  async function readBlock(node: Node, block: Header): Promise<{ logs: ChainLog[]; isWhole: boolean }> {
    const { logsBloom, hash } = block
    const addresses = [...vaults, venue.address]
    // Some chains leave the bloom filter empty.
    const hasBloom = /[1-9a-f]/.test(logsBloom.slice(2))
    const matching = hasBloom ? addresses.filter((address) => mayHaveLogsOf(logsBloom, address)) : addresses
    if (matching.length === 0) return { logs: [], isWhole: true }
    const topics = [...vaultTopics, ...venue.topics]
    const lists = inChunks(matching, maxAddresses).map((address) => node.logsOf({ address, topics: [topics] }, hash))
    const found = (await Promise.all(lists)).flat()
    if (found.length > 0 || !hasBloom) return { logs: sortLogs(found), isWhole: false }
    const matches = ({ address, topics: [first] }: ChainLog): boolean =>
      matching.includes(getAddress(address)) && first !== undefined && topics.includes(first)
    return { logs: (await allLogs(node, block)).filter(matches), isWhole: true }
  }
}

/**
 * Reads all logs of a block. A bloom filter has false positives, but the filter of all logs must equal that of the
 * header.
 * @throws {NodeFault} when logs are missing
 */
async function allLogs(node: Node, { number, hash, logsBloom }: Header): Promise<ChainLog[]> {
  const all = await node.logsOf({}, hash)
  if (bloomOf(all) === logsBloom) return all
  throw new NodeFault(`left out logs of block ${number}, by its bloom`)
}
