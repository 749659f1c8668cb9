import type { Address } from 'viem'
import type { Header, Log } from './block.ts'
import { bloomOf, mayHaveLogsOf } from './bloom.ts'
import { NodeFault } from './errors.ts'
import { inChunks } from './groups.ts'
import type { Holdings } from './holdings.ts'
import type { LogFilter, Node } from './node.ts'
import { inOrder, type RangeWidth, readHistory } from './ranges.ts'
import type { Rpc } from './rpc.ts'
import { vaultTopics } from './vault-events.ts'

/** Reads the logs that tell of vaults. */
export interface LogSource {
  /** Those of a range of old blocks. */
  inRange(from: number, to: number, width: RangeWidth): Promise<Log[]>
  /** Those of one block. */
  ofBlock(block: Header): Promise<Log[]>
}

/** Providers take so many addresses in a filter. */
const mostAddresses = 200

export function createLogSource(rpc: Rpc, vaults: readonly Address[], holdings: Holdings): LogSource {
  const { venue } = holdings
  const ofVaults = inChunks(vaults, mostAddresses).map((address): LogFilter => ({ address, topics: [vaultTopics] }))

  return {
    async inRange(from, to, width) {
      const changes = await readHistory(rpc, [...ofVaults, ...venue.movesOf(vaults)], from, to, width)
      const arrived = changes.flatMap((log) => venue.readLog(log)?.id ?? [])
      const ids = new Set([...holdings.ids, ...arrived])
      return inOrder([...changes, ...(await readHistory(rpc, venue.changesOf([...ids]), from, to, width))])
    },
    ofBlock: (block) => rpc.ask((node) => readBlock(node, block)),
  }

  async function readBlock(node: Node, block: Header): Promise<Log[]> {
    const { logsBloom, hash } = block
    const addresses = [...vaults, venue.address]
    // Some chains leave the bloom empty whatever the block holds.
    const hasBloom = /[1-9a-f]/.test(logsBloom.slice(2))
    const asked = hasBloom ? addresses.filter((address) => mayHaveLogsOf(logsBloom, address)) : addresses
    if (asked.length === 0) return []
    const topics = [[...vaultTopics, ...venue.topics]]
    const found = (
      await Promise.all(inChunks(asked, mostAddresses).map((address) => node.logsOf({ address, topics }, hash)))
    ).flat()
    if (hasBloom && found.length === 0) await checkEmpty(node, block)
    return inOrder(found)
  }
}

/** A bloom can say yes where there is nothing, but not when all logs of the block are there to make it anew. */
async function checkEmpty(node: Node, { number, hash, logsBloom }: Header): Promise<void> {
  const all = await node.logsOf({}, hash)
  if (bloomOf(all) !== logsBloom) throw new NodeFault(`left out logs of block ${number}, by its bloom`)
}
