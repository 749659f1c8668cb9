import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { ChainConfig } from '../config.ts'
import { ChainError, Contradiction, NodeResting, RequestFailed, WrongChain } from '../errors.ts'
import {
  defaultFaultTimes,
  type FailingRequest,
  type FaultTimes,
  FaultWatch,
  type FaultWatchOptions,
} from './fault-watch.ts'
import type { Header } from './block.ts'
import { HeaderHashes } from './newest/header-hash.ts'
import { NewestBlocks } from './newest/newest-blocks.ts'
import { connectNode, type Node, type NodeLimits } from './node.ts'
import { isLate } from './nodes/answer-times.ts'
import { NodeOrder } from './nodes/node-order.ts'
import { unlessAborted } from './nodes/unless-aborted.ts'

/** Pause after all nodes have failed, which doubles each time. */
export interface RpcRetryOptions {
  readonly firstMilliseconds: number
  readonly maxMilliseconds: number
  readonly faultTimes?: FaultTimes
}

const defaultRetry: RpcRetryOptions = { firstMilliseconds: 250, maxMilliseconds: 15_000 }

/** Number of consecutive checks after which a replaced block counts as reorganised: a node may be out of sync. */
const replacedConfirmations = 5

/** A block, identified by its hash too, because a reorganisation replaces blocks of the same number. */
export type BlockId = Pick<Header, 'number' | 'hash'>

/** All nodes of a chain. */
export interface Rpc {
  readonly nodes: readonly Node[]
  readonly newest: NewestBlocks
  readonly faultTimes: FaultTimes
  /**
   * Verifies the chain ID of all nodes again: the node behind a URL may change. Nodes that do not answer are skipped; those
   * that are slow or did not answer in time are verified before their next use.
   * @throws {WrongChain} when a node serves another chain
   */
  checkChain(): Promise<void>
  /** Uses slow nodes as the others for a minute: answers contradict each other, and any node may be wrong. */
  useAllNodes(): void
  /**
   * Runs work at one node, and retries at the next until it succeeds.
   * @throws {ChainError | Contradiction} when the work throws it
   */
  ask<Value>(work: (node: Node) => Promise<Value>): Promise<Value>
  /** Runs work in the same way, also at slow nodes in their turn: a quick node may be at an old block. */
  askAny<Value>(work: (node: Node) => Promise<Value>): Promise<Value>
  /**
   * Runs work about one block, known by its hash, in the same way.
   * @throws {Contradiction} when all nodes that answer have a different block of that number: it was reorganised, or
   * never canonical
   */
  askAt<Value>(block: BlockId, work: (node: Node) => Promise<Value>): Promise<Value>
  /**
   * Returns an `askAt` of a block for answers that confirm each other: each begins at the node after that of the last answer,
   * and where it is urgent, slow nodes are used after the others even so.
   */
  askInTurnAt(block: BlockId): <Value>(work: (node: Node) => Promise<Value>, isUrgent?: boolean) => Promise<Value>
  /** Returns the same connection, whose requests also end on this abort: what fails is repeated without end. */
  endingAt(signal: AbortSignal): Rpc
}

/** Options of {@link connectRpc}. */
export interface RpcOptions extends Omit<FaultWatchOptions, 'times'> {
  readonly signal: AbortSignal
  readonly retry?: RpcRetryOptions | undefined
  readonly limits?: NodeLimits | undefined
  /** The nodes of `rpc`, shared by all connections to a chain: their rate limits and pauses hold for all requests. */
  readonly nodes?: readonly Node[]
  /** The newest blocks, shared by all connections to a chain. */
  readonly newest?: NewestBlocks
}

interface AskOptions {
  readonly block?: BlockId | undefined
  /** The node before the one to begin at; the next one in turn where it is absent. */
  readonly after?: Node | undefined
  /** Whether slow nodes have their turn like the others. */
  readonly anyNode?: boolean
}

/** Creates the clients of a chain's nodes. */
export function connectNodes(rpc: ChainConfig['rpc'], limits?: NodeLimits): readonly Node[] {
  const hashes = new HeaderHashes(rpc.length)
  return rpc.map((node) => connectNode(node, limits, hashes))
}

/** Connects to the nodes of a chain. */
export function connectRpc({ rpc, chainId }: Pick<ChainConfig, 'rpc' | 'chainId'>, options: RpcOptions): Rpc {
  const { retry = defaultRetry, limits, newest = new NewestBlocks() } = options
  const times = retry.faultTimes ?? defaultFaultTimes
  const nodes = options.nodes ?? connectNodes(rpc, limits)
  const shared = {
    ...{ chainId, nodes, newest, retry, times, started: 0, checked: new Set<Node>() },
    ...{ faults: new FaultWatch({ ...options, times }), order: new NodeOrder(nodes, { ...options, times }) },
  }
  return requestsUntil(options.signal, shared)
}

/** State that all requests of a connection share. */
interface SharedByRequests {
  readonly chainId: number
  readonly nodes: readonly Node[]
  readonly newest: NewestBlocks
  readonly retry: RpcRetryOptions
  readonly times: FaultTimes
  readonly faults: FaultWatch
  readonly order: NodeOrder
  readonly checked: Set<Node>
  /** Number of requests that could start at any node: each starts at the next one. */
  started: number
}

/** Creates the requests of a connection that end on an abort. */
function requestsUntil(signal: AbortSignal, shared: SharedByRequests): Rpc {
  const { chainId, nodes, newest, times, faults, order, checked } = shared
  const { firstMilliseconds, maxMilliseconds } = shared.retry
  // No limit on listeners: each pending request adds one.
  setMaxListeners(0, signal)

  /** Verifies the chain id of a node before its first use. */
  const check = async (node: Node): Promise<void> => {
    if (checked.has(node)) return
    const found = await node.chainId()
    if (found !== chainId) throw new WrongChain(node.name, found, chainId)
    checked.add(node)
  }
  const checkChain = async (): Promise<void> => {
    const slow = nodes.filter((node) => order.isSlow(node))
    for (const node of slow) checked.delete(node)
    const ready = nodes.filter((node) => node.restMilliseconds() === 0 && !slow.includes(node))
    const answers = await unlessAborted(Promise.allSettled(ready.map((node) => node.chainId())), signal)
    answers.forEach((answer, index) => {
      const found = answer.status === 'fulfilled' ? answer.value : chainId
      if (found !== chainId) throw new WrongChain(ready[index]?.name ?? '', found, chainId)
    })
  }
  /** Runs work at one node after the other, until it succeeds. */
  const tryAll = async <Value>(
    work: (node: Node) => Promise<Value>,
    request: FailingRequest,
    { block, after, anyNode = after !== undefined }: AskOptions,
  ): Promise<Value> => {
    const first = after === undefined ? shared.started++ : nodes.indexOf(after) + 1
    let replaced = 0
    let turns: readonly Node[] = []
    for (let failures = 0; ; failures++) {
      signal.throwIfAborted()
      const turn = failures % nodes.length
      if (turn === 0) turns = order.inOrder(first, anyNode)
      const node = turns[turn] as Node
      try {
        const rest = node.restMilliseconds()
        if (rest > 0) throw new NodeResting(rest)
        return await unlessAborted(
          check(node).then(() => work(node)),
          signal,
        )
      } catch (error) {
        if (error instanceof ChainError || error instanceof Contradiction || signal.aborted) throw error
        // Another node may answer at its URL when it does so again.
        if (isLate(error instanceof RequestFailed ? error.cause : error)) checked.delete(node)
        request.failed(node, error)
      }
      // Try the next node immediately; pause after a full round.
      if (turn + 1 < nodes.length) continue
      const round = Math.floor(failures / nodes.length)
      const rest = Math.min(...nodes.map((one) => one.restMilliseconds()))
      const pause = request.roundFailed(Math.max(rest, Math.min(firstMilliseconds * 2 ** round, maxMilliseconds)))
      await wait(pause, undefined, { signal })
      if (block === undefined || !request.isLasting) continue
      await checkChain()
      replaced = (await isReplaced(nodes, block)) ? replaced + 1 : 0
      if (replaced >= replacedConfirmations) {
        throw new Contradiction(`block ${block.number} was ${block.hash}, and is not any more`)
      }
    }
  }
  const ask = async <Value>(work: (node: Node) => Promise<Value>, asked: AskOptions = {}): Promise<Value> => {
    const request = faults.begin()
    let isAnswered = false
    try {
      const value = await tryAll(work, request, asked)
      isAnswered = true
      return value
    } finally {
      request.end(isAnswered)
    }
  }
  return {
    nodes,
    newest,
    faultTimes: times,
    checkChain,
    useAllNodes: () => order.useAll(),
    ask: (work) => ask(work),
    askAny: (work) => ask(work, { anyNode: true }),
    askAt: (block, work) => ask(work, { block }),
    askInTurnAt(block) {
      let last: Node | undefined
      return (work, isUrgent = false) =>
        ask((node) => work((last = node)), { block, after: last, ...(isUrgent && { anyNode: false }) })
    },
    endingAt: (other) => requestsUntil(AbortSignal.any([signal, other]), shared),
  }
}

/** Returns whether all nodes that answer have a different block of this number. */
async function isReplaced(nodes: readonly Node[], { number, hash }: BlockId): Promise<boolean> {
  const answers = await Promise.allSettled(nodes.map((node) => node.block(number)))
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.hash] : []))
  return found.length > 0 && !found.includes(hash)
}
