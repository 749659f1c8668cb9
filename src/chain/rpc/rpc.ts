import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { BaseError } from 'viem'
import type { ChainConfig } from '../config.ts'
import { ChainError, WrongChain } from '../errors.ts'
import { connectNode, type Node } from './node.ts'

/** Pause after all nodes have failed, which doubles each time. */
export interface RpcRetryOptions {
  readonly firstMilliseconds: number
  readonly maxMilliseconds: number
}

const defaultRetry: RpcRetryOptions = { firstMilliseconds: 250, maxMilliseconds: 15_000 }

/** Reports an event to the operator. */
export type Report = (level: 'info' | 'warn', message: string, facts: Readonly<Record<string, unknown>>) => void

/** All nodes of a chain. */
export interface Rpc {
  readonly nodes: readonly Node[]
  /**
   * Runs work at one node, and retries at the next until it succeeds.
   * @throws {ChainError} when the work throws it
   */
  ask<Value>(work: (node: Node) => Promise<Value>): Promise<Value>
}

/** Connects to the nodes of a chain. */
export function connectRpc(
  { rpc, chainId }: Pick<ChainConfig, 'rpc' | 'chainId'>,
  report: Report,
  signal: AbortSignal,
  { firstMilliseconds, maxMilliseconds }: RpcRetryOptions = defaultRetry,
): Rpc {
  const nodes = rpc.map(connectNode)
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
  return {
    nodes,
    async ask(work) {
      const first = turn++
      for (let failures = 0; ; failures++) {
        signal.throwIfAborted()
        const node = nodes[(first + failures) % nodes.length] as Node
        try {
          const value = await unlessAborted(
            check(node).then(() => work(node)),
            signal,
          )
          if (failures >= nodes.length) report('info', 'The chain answers again', { node: node.name })
          return value
        } catch (error) {
          if (error instanceof ChainError || signal.aborted) throw error
          const round = Math.floor(failures / nodes.length)
          const pauseMilliseconds = Math.min(firstMilliseconds * 2 ** round, maxMilliseconds)
          // A single failure is not reported: the next node is asked at once.
          if ((failures + 1) % nodes.length > 0) continue
          report('warn', 'The chain is waited for', { node: node.name, reason: reasonOf(error), pauseMilliseconds })
          await wait(pauseMilliseconds, undefined, { signal })
        }
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

/** Returns an error's message without the node's URL, which may contain an API key. */
function reasonOf(error: unknown): string {
  if (!(error instanceof BaseError)) return (error as Error).message
  return error.details && !error.details.includes('://') ? `${error.shortMessage} ${error.details}` : error.shortMessage
}
