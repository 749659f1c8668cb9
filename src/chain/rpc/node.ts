import { rateLimit } from '@ponder/utils'
import { type Address, createClient, type Hex, http, numberToHex, type Transport } from 'viem'
import { type Header, type ChainLog, readHeader, readLogs } from './block.ts'
import type { NodeConfig } from '../config.ts'
import { NodeFault } from '../errors.ts'

/** How long a node has to answer. */
const timeoutMilliseconds = 20_000

/** What logs are asked for; an absent topic stands for any. */
export interface LogFilter {
  readonly address?: Address | readonly Address[]
  readonly topics?: readonly (Hex | readonly Hex[] | null)[]
}

/** One node of the chain. Each of its answers is checked for its form; a call fails with any error where it fails. */
export interface Node {
  /** Its host: an address holds a key often. */
  readonly name: string
  chainId(): Promise<number>
  /** The newest block that can't be taken back, or by number or tag. */
  block(at: number | 'latest' | 'finalized'): Promise<Header>
  logsIn(filter: LogFilter, from: number, to: number): Promise<ChainLog[]>
  logsOf(filter: LogFilter, blockHash: Hex): Promise<ChainLog[]>
  code(address: Address, blockHash: Hex): Promise<Hex>
  call(to: Address, data: Hex, blockHash: Hex): Promise<Hex>
}

export function connectNode({ url, requestsPerSecond }: NodeConfig): Node {
  const request = requester(url, requestsPerSecond)
  const logs = async (filter: LogFilter, of: Record<string, Hex>): Promise<ChainLog[]> => {
    const answer = await request({ method: 'eth_getLogs', params: [{ ...filter, ...of }] })
    return readLogs(answer)
  }
  return {
    name: new URL(url).host,
    chainId: async () => Number(await request({ method: 'eth_chainId', params: [] })),
    async block(at) {
      const tag = typeof at === 'number' ? numberToHex(at) : at
      const header = readHeader(await request({ method: 'eth_getBlockByNumber', params: [tag, false] }))
      if (typeof at === 'number' && header.number !== at) throw new NodeFault(`gave block ${header.number} for ${at}`)
      return header
    },
    async logsIn(filter, from, to) {
      const found = await logs(filter, { fromBlock: numberToHex(from), toBlock: numberToHex(to) })
      if (found.every(({ block }) => block >= from && block <= to)) return found
      throw new NodeFault(`gave logs that are not of the blocks from ${from} to ${to}`)
    },
    async logsOf(filter, blockHash) {
      const found = await logs(filter, { blockHash })
      if (found.every((log) => log.blockHash === blockHash)) return found
      throw new NodeFault(`gave logs that are not of block ${blockHash}`)
    },
    code: async (address, blockHash) =>
      bytes(await request({ method: 'eth_getCode', params: [address, { blockHash }] })),
    call: async (to, data, blockHash) =>
      bytes(await request({ method: 'eth_call', params: [{ to, data }, { blockHash }] })),
  }
}

type Request = (body: { method: string; params?: unknown }) => Promise<unknown>

/** Within its rate. What fails is tried again by whoever asked, at another node first. */
function requester(url: string, requestsPerSecond: number): Request {
  const limited = rateLimit(http(url, { retryCount: 0, timeout: timeoutMilliseconds }), {
    requestsPerSecond,
    browser: false,
  })
  const transport: Transport = (options) => limited({ ...options, retryCount: 0, timeout: timeoutMilliseconds })
  return createClient({ transport }).request as Request
}

function bytes(value: unknown): Hex {
  if (typeof value !== 'string' || !value.startsWith('0x')) throw new NodeFault('gave no bytes for a call')
  return value as Hex
}
