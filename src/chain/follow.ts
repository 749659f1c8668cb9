import { setTimeout as wait } from 'node:timers/promises'
import type { Header, ChainLog } from './rpc/block.ts'
import type { ChainConfig } from './config.ts'
import { explainBreak, finalBlock } from './rpc/finality.ts'
import type { LogSource } from './log-source.ts'
import type { Node } from './rpc/node.ts'
import { RangeWidth } from './rpc/log-ranges.ts'
import type { Rpc } from './rpc/rpc.ts'

/** Blocks below the final one that are read singly: no node that can be asked for the final one lags further. */
const newestBlocks = 64

/** Final blocks, one after another, with the logs in them. It never ends in the middle of a second. */
export interface Segment {
  readonly from: number
  readonly to: number
  readonly logs: readonly ChainLog[]
  /** Whether it is sure that there are no more. */
  readonly isWhole: boolean
  /** Headers that are known from reading it; that of the block after it is one. */
  readonly headers: ReadonlyMap<number, Header>
}

export interface FollowOptions {
  readonly rpc: Rpc
  readonly logs: LogSource
  readonly finality: ChainConfig['finality']
  readonly pollSeconds: number
  /** The block before the first one. */
  readonly parent: Header
  /** Ends it at the newest final block instead of waiting for more. */
  readonly once: boolean
  readonly signal: AbortSignal
  /** Is told of the newest block that was read, where no more is final yet; all before it has been taken then. */
  readonly onEnd?: ((newest: Header) => Promise<void>) | undefined
}

/**
 * Reads the chain up to its final block, and on as it grows: old blocks by ranges, the newest ones singly, each by its
 * hash and linked to its parent.
 * @throws {ChainDiverged}
 */
export async function* followChain(options: FollowOptions): AsyncGenerator<Segment> {
  const { rpc, finality, pollSeconds, once, signal } = options
  const width = new RangeWidth()
  let last = options.parent
  for (;;) {
    const final = await finalBlock(rpc, finality)
    while (final.number - newestBlocks > last.number) {
      const segment = await readRange(options, last, final.number - newestBlocks, width)
      yield segment
      last = segment.headers.get(segment.to) as Header
    }
    for await (const segment of readSingly(options, last, final.number)) {
      yield segment
      last = segment.headers.get(segment.to) as Header
    }
    if (once) return
    await options.onEnd?.(last)
    await wait(pollSeconds * 1_000, undefined, { signal })
  }
}

/** One range, as wide as the nodes will have it. */
async function readRange(
  { rpc, logs }: FollowOptions,
  parent: Pick<Header, 'number' | 'hash'>,
  limit: number,
  width: RangeWidth,
): Promise<Segment> {
  const first = await rpc.ask((node) => linked(rpc, node, parent))
  const headers = await endOfSecond(rpc, Math.min(parent.number + width.blocks, limit))
  const [from, to] = [first.number, Math.max(...headers.keys()) - 1]
  const found = await logs.inRange(from, to, width)
  return { from, to, logs: found, isWhole: false, headers: headers.set(from, first) }
}

/** Blocks from the parent on whose next one is final too, those of a second together. */
async function* readSingly(
  { rpc, logs }: FollowOptions,
  parent: Pick<Header, 'number' | 'hash'>,
  final: number,
): AsyncGenerator<Segment> {
  if (parent.number + 1 >= final) return
  let block = await rpc.ask((node) => linked(rpc, node, parent))
  let found: ChainLog[] = []
  let isWhole = true
  let from = block.number
  let headers = new Map<number, Header>()
  while (block.number < final) {
    const current = block
    const ofBlock = await logs.ofBlock(current)
    found.push(...ofBlock.logs)
    isWhole &&= ofBlock.isWhole
    block = await rpc.ask((node) => linked(rpc, node, current))
    headers.set(current.number, current).set(block.number, block)
    if (block.ts === current.ts) continue
    yield { from, to: current.number, logs: found, isWhole, headers }
    found = []
    isWhole = true
    from = block.number
    headers = new Map()
  }
}

/** The block after a final one. */
async function linked(rpc: Rpc, node: Node, parent: Pick<Header, 'number' | 'hash'>): Promise<Header> {
  const block = await node.block(parent.number + 1)
  return block.parentHash === parent.hash ? block : explainBreak(rpc, parent)
}

/** Headers from a block on to the first one that is of a later second. */
async function endOfSecond(rpc: Rpc, number: number): Promise<Map<number, Header>> {
  const headers = new Map<number, Header>()
  for (let next = number; ; next++) {
    const header = await rpc.ask((node) => node.block(next))
    headers.set(next, header)
    if (header.ts !== headers.get(number)?.ts) return headers
  }
}
