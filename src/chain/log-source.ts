import { type Address, getAddress, type Hex } from 'viem'
import { type Header, type ChainLog, sortLogs } from './rpc/block.ts'
import { hasBloom, mayHaveLogsOf, mayMatch, readAllLogs, readMatchingLogs } from './rpc/bloom.ts'
import { BlockState } from './rpc/multicall.ts'
import { groupBy, inChunks } from './rpc/arrays.ts'
import { arrivalsIn, type Holdings } from './positions/holdings.ts'
import { leftNoTraces, type TracesOptions } from './positions/traces.ts'
import { type LogFilter, maxAddresses, type Node } from './rpc/node.ts'
import { readLogRange } from './rpc/log-ranges.ts'
import { readAgreedLogs } from './rpc/newest/agreed-logs.ts'
import type { RangeWidth } from './rpc/nodes/range-width.ts'
import { mintTopics } from './vaults/vault-events.ts'
import type { VaultKinds } from './vaults/vault-kinds.ts'
import { mayMintFees } from './vaults/vault-fees.ts'
import { ExplainedState } from './vaults/explained-state.ts'
import type { Tokens } from './valuation/tokens.ts'
import { emptyConfirmations } from './rpc/contract-existence.ts'
import { type ExplainedLogs, readUntilExplained } from './left-out-logs.ts'

/** Reads the logs about vaults. */
export interface LogSource {
  /** Reads the logs of a range of old blocks. */
  ofRange(from: number, to: number, width: RangeWidth): Promise<ChainLog[]>
  /** Reads the logs of the blocks of one second, one by one. */
  ofSecond(blocks: readonly Header[]): Promise<BlockLogs>
}

/** The logs of blocks, and whether they are verified to be complete. */
interface BlockLogs {
  readonly logs: readonly ChainLog[]
  readonly isVerified: boolean
}

/** Options of {@link createLogSource}. */
export interface LogSourceOptions extends TracesOptions {
  readonly tokens: Tokens
  readonly kinds: VaultKinds
}

/** Creates a source for the logs of vaults and of their positions. */
export function createLogSource(options: LogSourceOptions, vaults: readonly Address[], holdings: Holdings): LogSource {
  const { rpc, multicall, venues, kinds, tokens } = options
  const filtersOf = (some: readonly Address[]): LogFilter[] => {
    const minting = some.filter((address) => mayMintFees(kinds, address))
    return [
      ...[...groupBy(some, (vault) => kinds.of(vault).adapter)].flatMap(([{ topics }, ofKind]) =>
        inChunks(
          ofKind.flatMap((vault) => kinds.emittersOf(vault)),
          maxAddresses,
        ).map((address) => ({ address, topics: [topics] })),
      ),
      ...inChunks(minting, maxAddresses).map((address) => ({ address, topics: mintTopics })),
    ]
  }
  const topicsNow = (): Hex[] => [
    ...new Set([...vaults.flatMap((vault) => kinds.of(vault).adapter.topics), ...venues.topics]),
  ]
  const explained = new ExplainedState(kinds)

  return {
    async ofRange(from, to, width) {
      const states = await Promise.all([stateAt(from - 1), stateAt(to)])
      await kinds.resolve(states[1])
      const filters = [...filtersOf(vaults), ...venues.movesOf(holdings.accounts)]
      const read = async (): Promise<ExplainedLogs> => {
        const found = await readLogRange(rpc, filters, from, to, width)
        return rereadWhileLacking(found, states, (lacking) => readLogRange(rpc, filtersOf(lacking), from, to, width))
      }
      const changes = await readUntilExplained(read, states, width, { rpc, explained, stateAt, filtersOf })
      const arrived = changes.flatMap((log) => venues.decodeLog(log)?.id ?? [])
      const ids = new Set([...holdings.ids, ...arrived])
      await venues.locate(states[1], [...ids])
      return sortLogs([...changes, ...(await readLogRange(rpc, venues.changesOf([...ids]), from, to, width))])
    },
    async ofSecond(blocks) {
      const logs: ChainLog[] = []
      let isVerified = true
      for (const block of blocks) {
        // The holdings are up to date at the end of the second before.
        const ids = [...new Set([...holdings.ids, ...logs.flatMap((log) => venues.decodeLog(log)?.id ?? [])])]
        const ofBlock = await readLogsOfBlock(block, ids)
        logs.push(...ofBlock.logs)
        isVerified &&= ofBlock.isVerified
      }
      const earlier = await changesBeforeArrival(blocks, logs)
      return earlier === null ? { logs, isVerified } : { logs: sortLogs([...logs, ...earlier]), isVerified: false }
    },
  }

  /** @param ids the positions that vaults may hold at the block */
  async function readLogsOfBlock(block: Header, ids: readonly string[]): Promise<BlockLogs> {
    await kinds.resolve(new BlockState(rpc, multicall, block))
    const suspects = hasBloom(block) ? suspectsIn(block, ids) : { vaults, contracts: venues.contracts }
    const emitters = suspects.vaults.flatMap((vault) => kinds.emittersOf(vault))
    const addresses = [...new Set([...emitters, ...suspects.contracts])]
    if (addresses.length === 0) return { logs: [], isVerified: true }
    const told = (
      await readAgreedLogs(rpc, rpc.askInTurnAt(block), (node) => requestLogs(node, block, addresses))
    ).filter(isOfVaults)
    const readAll = (): Promise<ChainLog[]> => readAllLogsOfVaults(block, addresses)
    if (told.length > 0)
      return { logs: (await rereadWhileLacking(told, statesOf(block), readAll)).logs, isVerified: false }
    const positions = suspects.contracts.length > 0 ? { owners: holdings.accounts, ids } : undefined
    const accounts = suspects.vaults.flatMap((vault) => kinds.of(vault).accounts)
    const traced = { vaults: suspects.vaults, emitters, accounts, tokens: [...tokens.keys()], positions }
    if (await leftNoTraces(block, traced, options)) return { logs: [], isVerified: true }
    const all = await readAll()
    // Without a bloom filter, only the contracts' state shows that these are all.
    if (hasBloom(block)) return { logs: all, isVerified: true }
    return { logs: (await rereadWhileLacking(all, statesOf(block), readAll)).logs, isVerified: false }
  }

  /**
   * Reads the earlier changes of positions that arrive at vaults in these blocks: before the arrival, no log links the
   * position to a vault. Null where no position arrives, or there is one block.
   */
  async function changesBeforeArrival(
    blocks: readonly Header[],
    logs: readonly ChainLog[],
  ): Promise<ChainLog[] | null> {
    const ids = [...arrivalsIn(logs, holdings).keys()]
    const last = blocks.at(-1)
    if (last === undefined || blocks.length === 1 || ids.length === 0) return null
    await venues.locate(new BlockState(rpc, multicall, last), ids)
    const filters = venues.changesOf(ids)
    const read = (block: Header): Promise<ChainLog[][]> =>
      rpc.askAt(block, (node) => Promise.all(filters.map((filter) => readMatchingLogs(node, filter, block))))
    return (await Promise.all(blocks.slice(0, -1).map(read))).flat(2)
  }

  async function stateAt(number: number): Promise<BlockState> {
    return new BlockState(rpc, multicall, await rpc.ask((node) => node.block(number)))
  }

  function statesOf({ number, hash, parentHash }: Header): [BlockState, BlockState] {
    const before = { number: number - 1, hash: parentHash }
    return [new BlockState(rpc, multicall, before), new BlockState(rpc, multicall, { number, hash })]
  }

  /** Reads all logs of a block and returns those of the given contracts. */
  async function readAllLogsOfVaults(block: Header, addresses: readonly Address[]): Promise<ChainLog[]> {
    const all = await rpc.askAt(block, (node) => readAllLogs(node, block))
    const isRequested = (log: ChainLog): boolean => addresses.includes(getAddress(log.address)) && isOfTopics(log)
    return all.filter((log) => isRequested(log) && isOfVaults(log))
  }

  /** Reads logs again for vaults whose state shows that some are missing, or are not there. */
  async function rereadWhileLacking(
    found: readonly ChainLog[],
    states: readonly [BlockState, BlockState],
    readAgain: (lacking: readonly Address[]) => Promise<readonly ChainLog[]>,
  ): Promise<ExplainedLogs> {
    let logs = sortLogs(found)
    let lacking = await explained.lacking(vaults, logs, states)
    for (let reading = 1; reading < emptyConfirmations && lacking.length > 0; reading++) {
      rpc.useAllNodes()
      const again = sortLogs(await readAgain(lacking))
      const left = await explained.lacking(lacking, sortLogs([...logs, ...again]), states)
      lacking = await explained.lacking(left, again, states)
      const emitters = left.filter((vault) => !lacking.includes(vault)).flatMap((vault) => kinds.emittersOf(vault))
      // The new answer explains these without the earlier ones, which have logs that are not there.
      const kept = logs.filter(({ address }) => !emitters.includes(getAddress(address)))
      logs = sortLogs([...kept, ...again])
    }
    return { logs, lacking }
  }

  /** Returns the contracts that may have logs about vaults in a block, by its bloom filter. */
  function suspectsIn({ logsBloom }: Header, ids: readonly string[]) {
    const contracts = venues.all.flatMap((venue) => {
      const filters = [...venue.movesOf(holdings.accounts), ...venue.changesOf(ids.filter((id) => venue.has(id)))]
      const found = filters.filter((filter) => mayMatch(logsBloom, filter)).flatMap(({ address = [] }) => address)
      // A position that arrives has changes in the other contracts of its venue.
      return found.length > 0 && venue.list !== undefined ? venue.contracts : found
    })
    return {
      vaults: vaults.filter((vault) => filtersOf([vault]).some((filter) => mayMatch(logsBloom, filter))),
      contracts: [...new Set(contracts)].filter((contract) => mayHaveLogsOf(logsBloom, contract)),
    }
  }

  async function requestLogs(node: Node, block: Header, addresses: readonly Address[]): Promise<ChainLog[]> {
    const lists = inChunks(addresses, maxAddresses).map((address) =>
      readMatchingLogs(node, { address, topics: [topicsNow()] }, block),
    )
    return (await Promise.all(lists)).flat()
  }

  function isOfTopics({ topics: [first] }: ChainLog): boolean {
    return first !== undefined && topicsNow().includes(first)
  }

  /** Returns whether a log is about vaults: a pool also logs positions of other accounts. */
  function isOfVaults(log: ChainLog): boolean {
    const account = venues.decodeLog(log)?.account
    return account === undefined || holdings.vaultOf(account.owner) !== undefined
  }
}
