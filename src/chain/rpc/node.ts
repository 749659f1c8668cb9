import { rateLimit } from '@ponder/utils'
import { type Address, createClient, type Hex, http, numberToHex, type Transport } from 'viem'
import { type Header, type ChainLog, readHeader, readLogs, readQuantity } from './block.ts'
import type { NodeConfig } from '../config.ts'
import { NodeFault } from '../errors.ts'

/** Timeout of a request. */
const timeoutMilliseconds = 20_000

/** Filter of eth_getLogs; an absent topic matches any. */
export interface LogFilter {
  readonly address?: Address | readonly Address[]
  readonly topics?: readonly (Hex | readonly Hex[] | null)[]
}

/** One node of the chain. The form of each response is validated; a failed request rejects with any error. */
export interface Node {
  /** Its host: the whole URL may contain an API key. */
  readonly name: string
  chainId(): Promise<number>
  /** Reads a block by number or tag. */
  block(at: number | 'latest' | 'finalized'): Promise<Header>
  logsIn(filter: LogFilter, from: number, to: number): Promise<ChainLog[]>
  logsOf(filter: LogFilter, blockHash: Hex): Promise<ChainLog[]>
  code(address: Address, blockHash: Hex): Promise<Hex>
  call(to: Address, data: Hex, blockHash: Hex): Promise<Hex>
}

/** Creates a client of a node. */
export function connectNode({ url, requestsPerSecond }: NodeConfig): Node {
  const request = createRequest(url, requestsPerSecond)
  const logs = async (filter: LogFilter, of: Record<string, Hex>): Promise<ChainLog[]> => {
    const answer = await request({ method: 'eth_getLogs', params: [{ ...filter, ...of }] })
    return readLogs(answer)
  }
  return {
    name: new URL(url).host,
    chainId: async () => readQuantity(await request({ method: 'eth_chainId', params: [] })),
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

/** Creates a rate-limited request function. The caller retries, at another node first. */
function createRequest(url: string, requestsPerSecond: number): Request {
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
