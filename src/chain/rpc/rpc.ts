import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { ChainConfig } from '../config.ts'
import { ChainError, WrongChain } from '../errors.ts'
import {
  defaultFaultTimes,
  type FailingRequest,
  type FaultTimes,
  FaultWatch,
  type FaultWatchOptions,
} from './fault-watch.ts'
import { connectNode, type Node } from './node.ts'

/** Pause after all nodes have failed, which doubles each time. */
export interface RpcRetryOptions {
  readonly firstMilliseconds: number
  readonly maxMilliseconds: number
  readonly faultTimes?: FaultTimes
}

const defaultRetry: RpcRetryOptions = { firstMilliseconds: 250, maxMilliseconds: 15_000 }

/** All nodes of a chain. */
export interface Rpc {
  readonly nodes: readonly Node[]
  /**
   * Runs work at one node, and retries at the next until it succeeds.
   * @throws {ChainError} when the work throws it
   */
  ask<Value>(work: (node: Node) => Promise<Value>): Promise<Value>
}

/** Options of {@link connectRpc}. */
export interface RpcOptions extends Omit<FaultWatchOptions, 'times'> {
  readonly signal: AbortSignal
  readonly retry?: RpcRetryOptions | undefined
}

/** Connects to the nodes of a chain. */
export function connectRpc({ rpc, chainId }: Pick<ChainConfig, 'rpc' | 'chainId'>, options: RpcOptions): Rpc {
  const { signal, retry = defaultRetry } = options
  const { firstMilliseconds, maxMilliseconds, faultTimes: times = defaultFaultTimes } = retry
  const nodes = rpc.map(connectNode)
  const faults = new FaultWatch({ ...options, times })
  const checked = new Set<Node>()
  // Any number of requests may listen at once.
  setMaxListeners(0, signal)
  let turn = 0

  /** Verifies the chain id of a node before its first use. */
  const check = async (node: Node): Promise<void> => {
    if (checked.has(node)) return
    const found = await node.chainId()
    if (found !== chainId) throw new WrongChain(node.name, found, chainId)
    checked.add(node)
  }
  /** Runs work at one node after the other, until it succeeds. */
  const tryAll = async <Value>(work: (node: Node) => Promise<Value>, request: FailingRequest): Promise<Value> => {
    const first = turn++
    for (let failures = 0; ; failures++) {
      signal.throwIfAborted()
      const node = nodes[(first + failures) % nodes.length] as Node
      try {
        return await unlessAborted(
          check(node).then(() => work(node)),
          signal,
        )
      } catch (error) {
        if (error instanceof ChainError || signal.aborted) throw error
        request.failed(node, error)
      }
      // The next node is asked at once.
      if ((failures + 1) % nodes.length > 0) continue
      const round = Math.floor(failures / nodes.length)
      const pause = request.roundFailed(Math.min(firstMilliseconds * 2 ** round, maxMilliseconds))
      await wait(pause, undefined, { signal })
    }
  }
  return {
    nodes,
    async ask(work) {
      const request = faults.begin()
      let isAnswered = false
      try {
        const value = await tryAll(work, request)
        isAnswered = true
        return value
      } finally {
        request.end(isAnswered)
      }
    },
  }
}

/** Settles with the work, or rejects at once when it is aborted. */
function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
