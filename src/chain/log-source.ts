import type { Address } from 'viem'
import type { Header, Log } from './block.ts'
import { bloomOf, mayHaveLogsOf } from './bloom.ts'
import { NodeFault } from './errors.ts'
import { inChunks } from './groups.ts'
import type { Holdings } from './holdings.ts'
import type { LogFilter, Node } from './node.ts'
import { vaultTopics } from './vault-events.ts'

/** Reads the logs that tell of vaults, from one node at a time. */
export interface LogSource {
  /** Those of a range of old blocks. */
  inRange(node: Node, from: number, to: number): Promise<Log[]>
  /** Those of one block. */
  ofBlock(node: Node, block: Header): Promise<Log[]>
}

/** Providers take so many addresses in a filter. */
const mostAddresses = 200

export function createLogSource(vaults: readonly Address[], holdings: Holdings): LogSource {
  const { venue } = holdings
  const ofVaults = inChunks(vaults, mostAddresses).map((address): LogFilter => ({ address, topics: [vaultTopics] }))
  const every = (node: Node, filters: readonly LogFilter[], from: number, to: number): Promise<Log[]> =>
    Promise.all(filters.map((filter) => node.logsIn(filter, from, to))).then((lists) => lists.flat())

  return {
    async inRange(node, from, to) {
      const [changes, moves] = await Promise.all([
        every(node, ofVaults, from, to),
        every(node, venue.movesOf(vaults), from, to),
      ])
      const arrived = moves.flatMap((log) => venue.readLog(log)?.id ?? [])
      const ids = new Set([...holdings.ids, ...arrived])
      return inOrder([...changes, ...moves, ...(await every(node, venue.changesOf([...ids]), from, to))])
    },
    async ofBlock(node, block) {
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
    },
  }
}

/** A bloom can say yes where there is nothing, but not when all logs of the block are there to make it anew. */
async function checkEmpty(node: Node, { number, hash, logsBloom }: Header): Promise<void> {
  const all = await node.logsOf({}, hash)
  if (bloomOf(all) !== logsBloom) throw new NodeFault(`left out logs of block ${number}, by its bloom`)
}

/** A log can be found by two filters. */
export function inOrder(logs: readonly Log[]): Log[] {
  const key = ({ blockHash, logIndex }: Log): string => `${blockHash} ${logIndex}`
  const once = new Map(logs.map((log) => [key(log), log]))
  return [...once.values()].sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
}
