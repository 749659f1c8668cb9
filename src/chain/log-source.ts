import { type Address, getAddress } from 'viem'
import type { Header, ChainLog } from './rpc/block.ts'
import { bloomOf, mayMatch } from './rpc/bloom.ts'
import { NodeFault } from './errors.ts'
import { inChunks } from './rpc/arrays.ts'
import type { Holdings } from './valuation/holdings.ts'
import { leftNoTraces, type TracesOptions } from './valuation/traces.ts'
import type { LogFilter, Node } from './rpc/node.ts'
import { sortLogs, type RangeWidth, readHistory } from './rpc/log-ranges.ts'
import { mintTopics, vaultTopics } from './vaults/vault-events.ts'
import { mintsFees, type VaultFeeTerms } from './vaults/vault-fees.ts'
import type { Tokens } from './valuation/tokens.ts'

/** Reads the logs about vaults. */
export interface LogSource {
  /** Reads the logs of a range of old blocks. */
  inRange(from: number, to: number, width: RangeWidth): Promise<ChainLog[]>
  /** Reads the logs of one block, and whether they are verified to be complete. */
  ofBlock(block: Header): Promise<{ logs: ChainLog[]; isWhole: boolean }>
}

/** Options of {@link createLogSource}. */
export interface LogSourceOptions extends TracesOptions {
  readonly tokens: Tokens
  readonly feeTerms: VaultFeeTerms
}

/** Maximum number of addresses in a filter that providers accept. */
const maxAddresses = 200

/** Creates a source for the logs of vaults and of their positions. */
export function createLogSource(options: LogSourceOptions, vaults: readonly Address[], holdings: Holdings): LogSource {
  const { rpc, venue, tokens, feeTerms } = options
  const filtersOf = (some: readonly Address[]): LogFilter[] => {
    const minting = some.filter((address) => mintsFees(feeTerms.get(address)))
    return [
      ...inChunks(some, maxAddresses).map((address) => ({ address, topics: [vaultTopics] })),
      ...inChunks(minting, maxAddresses).map((address) => ({ address, topics: mintTopics })),
    ]
  }
  const topics = [...vaultTopics, ...venue.topics]
  const newest: { ts: number; ids: Set<string> } = { ts: -1, ids: new Set() }

  return {
    async inRange(from, to, width) {
      const changes = await readHistory(rpc, [...filtersOf(vaults), ...venue.movesOf(vaults)], from, to, width)
      const arrived = changes.flatMap((log) => venue.readLog(log)?.id ?? [])
      const ids = new Set([...holdings.ids, ...arrived])
      return sortLogs([...changes, ...(await readHistory(rpc, venue.changesOf([...ids]), from, to, width))])
    },
    async ofBlock(block) {
      // Some chains leave the bloom filter empty.
      const hasBloom = /[1-9a-f]/.test(block.logsBloom.slice(2))
      const ids = idsAt(block)
      const suspects = hasBloom ? suspectsIn(block, ids) : { vaults, hasMoves: true }
      const addresses = [...suspects.vaults, ...(suspects.hasMoves ? [venue.address] : [])]
      if (addresses.length === 0) return { logs: [], isWhole: true }
      const found = await rpc.ask((node) => readLogsOf(node, block, addresses))
      found.forEach((log) => addTo(newest.ids, log))
      if (found.length > 0 || !hasBloom) return { logs: sortLogs(found), isWhole: false }
      const positions = suspects.hasMoves ? { owners: vaults, ids } : undefined
      const traced = { vaults: suspects.vaults, tokens: [...tokens.keys()], positions }
      if (await leftNoTraces(block, traced, options)) return { logs: [], isWhole: true }
      const all = await rpc.ask((node) => allLogs(node, block))
      const logs = all.filter((log) => addresses.includes(getAddress(log.address)) && isOfTopics(log))
      logs.forEach((log) => addTo(newest.ids, log))
      return { logs, isWhole: true }
    },
  }

  /**
   * Returns the positions that vaults may hold at a block: those of the holdings, which are up to date at the end of each
   * second, and those with logs in earlier blocks of the same second.
   */
  function idsAt({ ts }: Header): string[] {
    if (ts !== newest.ts) Object.assign(newest, { ts, ids: new Set() })
    return [...new Set([...holdings.ids, ...newest.ids])]
  }

  /** Returns the contracts that may have logs about vaults in a block, by its bloom filter. */
  function suspectsIn({ logsBloom }: Header, ids: readonly string[]) {
    return {
      vaults: vaults.filter((vault) => filtersOf([vault]).some((filter) => mayMatch(logsBloom, filter))),
      hasMoves: [...venue.movesOf(vaults), ...venue.changesOf(ids)].some((filter) => mayMatch(logsBloom, filter)),
    }
  }

  async function readLogsOf(node: Node, { hash }: Header, addresses: readonly Address[]): Promise<ChainLog[]> {
    const lists = inChunks(addresses, maxAddresses).map((address) => node.logsOf({ address, topics: [topics] }, hash))
    return (await Promise.all(lists)).flat()
  }

  function isOfTopics({ topics: [first] }: ChainLog): boolean {
    return first !== undefined && topics.includes(first)
  }

  function addTo(ids: Set<string>, log: ChainLog): void {
    const id = getAddress(log.address) === venue.address ? venue.readLog(log)?.id : undefined
    if (id !== undefined) ids.add(id)
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
