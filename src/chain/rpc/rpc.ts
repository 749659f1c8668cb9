import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { BaseError } from 'viem'
import type { ChainConfig } from '../config.ts'
import { ChainError, WrongChain } from '../errors.ts'
import { connectNode, type Node } from './node.ts'

/** How long is waited when all nodes have failed, twice as long each time. */
export interface RpcRetryOptions {
  readonly firstMilliseconds: number
  readonly longestMilliseconds: number
}

const usualPatience: RpcRetryOptions = { firstMilliseconds: 250, longestMilliseconds: 15_000 }

/** Is told what a person may want to know. */
export type Report = (level: 'info' | 'warn', message: string, facts: Readonly<Record<string, unknown>>) => void

/** The nodes of a chain together. */
export interface Rpc {
  readonly nodes: readonly Node[]
  /**
   * Does a piece of work at one node, and again at the next where it fails, for as long as it takes: a node that is down
   * is waited for.
   * @throws {ChainError} that the work throws
   */
  ask<Value>(work: (node: Node) => Promise<Value>): Promise<Value>
}

export function connectRpc(
  { rpc, chainId }: Pick<ChainConfig, 'rpc' | 'chainId'>,
  report: Report,
  signal: AbortSignal,
  { firstMilliseconds, longestMilliseconds }: RpcRetryOptions = usualPatience,
): Rpc {
  const nodes = rpc.map(connectNode)
  const checked = new Set<Node>()
  // Any number of questions may wait for it at once.
  setMaxListeners(0, signal)
  let turn = 0

  /** Before it is believed anything. */
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
          const value = await unlessStopped(
            check(node).then(() => work(node)),
            signal,
          )
          if (failures >= nodes.length) report('info', 'The chain answers again', { node: node.name })
          return value
        } catch (error) {
          if (error instanceof ChainError || signal.aborted) throw error
          const round = Math.floor(failures / nodes.length)
          const pauseMilliseconds = Math.min(firstMilliseconds * 2 ** round, longestMilliseconds)
          // One failure of one node is nothing: the next one is asked at once.
          if ((failures + 1) % nodes.length > 0) continue
          report('warn', 'The chain is waited for', { node: node.name, reason: reasonOf(error), pauseMilliseconds })
          await wait(pauseMilliseconds, undefined, { signal })
        }
      }
    },
  }
}

/** A stop doesn't wait for a node to answer. */
function unlessStopped<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** What went wrong, without the address of the node, which may hold a key. */
function reasonOf(error: unknown): string {
  if (!(error instanceof BaseError)) return (error as Error).message
  return error.details && !error.details.includes('://') ? `${error.shortMessage} ${error.details}` : error.shortMessage
}
