import { rateLimit } from '@ponder/utils'
import {
  type Address,
  BaseError,
  createClient,
  createTransport,
  type EIP1193RequestFn,
  type Hex,
  HttpRequestError,
  isHex,
  numberToHex,
  RpcRequestError,
  type Transport,
} from 'viem'
import { getHttpRpcClient } from 'viem/utils'
import { type Header, type ChainLog, readHeader, readLogs, readQuantity, readReceiptLogs } from './block.ts'
import type { NodeConfig } from '../config.ts'
import { NodeFault, NoFinalizedBlock, RequestFailed } from '../errors.ts'
import { type ExplainedFault, explainFault } from './faults.ts'
import { HeaderHashes } from './newest/header-hash.ts'
import { AnswerTimes } from './nodes/answer-times.ts'
import { errorText, fetchMoved, readRetryAfter, withShortBody } from './nodes/node-fetch.ts'

/** Limits on the answers of a node. */
export interface NodeLimits {
  /** Time limit for a complete answer. */
  readonly timeoutMilliseconds: number
  /** Maximum decompressed size of an answer: the logs of a block of 60 million gas can be 100 MB of JSON. */
  readonly maxAnswerBytes: number
}

const defaultLimits: NodeLimits = { timeoutMilliseconds: 20_000, maxAnswerBytes: 128 * 2 ** 20 }

/** Maximum pause; a longer Retry-After of a node is reduced to it. */
const maxRestMilliseconds = 60_000

/** Maximum number of addresses in a filter that providers accept. */
export const maxAddresses = 500

/** Filter of eth_getLogs; an absent topic matches any. */
export interface LogFilter {
  readonly address?: Address | readonly Address[]
  readonly topics?: readonly (Hex | readonly Hex[] | null)[]
}

/**
 * One node of the chain. Each response is validated: a request rejects with a {@link NodeFault} for an invalid result,
 * and with a {@link RequestFailed} without a result.
 */
export interface Node {
  /** Host of the node: the whole URL may contain an API key. */
  readonly name: string
  /** Times of its newest answers. */
  readonly times: AnswerTimes
  chainId(): Promise<number>
  /** Reads a block by number or tag. */
  block(at: number | 'latest' | 'finalized'): Promise<Header>
  logsIn(filter: LogFilter, from: number, to: number): Promise<ChainLog[]>
  logsOf(filter: LogFilter, blockHash: Hex): Promise<ChainLog[]>
  /** Reads all logs of a block from its receipts, which providers do not limit in number. */
  receiptLogsOf(blockHash: Hex): Promise<ChainLog[]>
  code(address: Address, blockHash: Hex): Promise<Hex>
  balance(account: Address, blockHash: Hex): Promise<bigint>
  call(to: Address, data: Hex, blockHash: Hex): Promise<Hex>
  /** Remaining milliseconds of the pause that the node requested; 0 without one. */
  restMilliseconds(): number
  /** Explains why a request to this node failed. */
  explain(error: unknown): ExplainedFault
}

/**
 * Creates a client of a node.
 * @param hashes verifies the headers of this node, and of the others of its chain
 */
export function connectNode(
  { url, requestsPerSecond }: NodeConfig,
  limits = defaultLimits,
  hashes = new HeaderHashes(1),
): Node {
  let restsUntil = 0
  const onRetryAfter = (milliseconds: number): void => {
    restsUntil = performance.now() + Math.min(milliseconds, maxRestMilliseconds)
  }
  const times = new AnswerTimes()
  const request = createRequest({ url, requestsPerSecond, times, onRetryAfter }, limits)
  const logs = async (filter: LogFilter, of: Record<string, Hex>): Promise<ChainLog[]> => {
    const answer = await request({ method: 'eth_getLogs', params: [{ ...filter, ...of }] })
    return readLogs(answer)
  }
  return {
    name: new URL(url).host,
    times,
    chainId: async () => readQuantity(await request({ method: 'eth_chainId', params: [] })),
    async block(at) {
      const tag = typeof at === 'number' ? numberToHex(at) : at
      const answer = await request({ method: 'eth_getBlockByNumber', params: [tag, false] })
      if (answer === null && at === 'finalized') throw new NoFinalizedBlock()
      const header = readHeader(answer)
      hashes.verify(answer as Record<string, unknown>)
      if (typeof at === 'number' && header.number !== at) throw new NodeFault(`gave block ${header.number} for ${at}`)
      return header
    },
    async logsIn(filter, from, to) {
      const found = await logs(filter, { fromBlock: numberToHex(from), toBlock: numberToHex(to) })
      if (found.every(({ block }) => block >= from && block <= to)) return found
      throw new NodeFault(`gave logs that are not of the blocks from ${from} to ${to}`)
    },
    logsOf: async (filter, blockHash) => requireOf(blockHash, await logs(filter, { blockHash })),
    receiptLogsOf: async (blockHash) =>
      requireOf(blockHash, readReceiptLogs(await request({ method: 'eth_getBlockReceipts', params: [blockHash] }))),
    code: async (address, blockHash) =>
      bytes('the code of a contract', await request({ method: 'eth_getCode', params: [address, { blockHash }] })),
    async balance(account, blockHash) {
      const balance = await request({ method: 'eth_getBalance', params: [account, { blockHash }] })
      if (!isHex(balance) || balance === '0x') throw new NodeFault('gave no number for a balance')
      return BigInt(balance)
    },
    call: async (to, data, blockHash) =>
      bytes('a call', await request({ method: 'eth_call', params: [{ to, data }, { blockHash }] })),
    restMilliseconds: () => Math.max(0, restsUntil - performance.now()),
    explain: (error) => explainFault(error, url),
  }
}

function requireOf(blockHash: Hex, found: ChainLog[]): ChainLog[] {
  if (found.every((log) => log.blockHash === blockHash)) return found
  throw new NodeFault(`gave logs that are not of block ${blockHash}`)
}

interface RequestBody {
  readonly method: string
  readonly params: readonly unknown[]
}

type Request = (body: RequestBody) => Promise<unknown>

/** HTTP statuses whose meaning a JSON-RPC error in the body must not replace. */
const refusals: readonly number[] = [401, 402, 403]

/** A body of a response, whose form is not verified yet. */
interface JsonRpcAnswer {
  readonly id?: string | number | null
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message?: unknown } | null | undefined
}

interface RequestOptions extends NodeConfig {
  readonly times: AnswerTimes
  readonly onRetryAfter: (milliseconds: number) => void
}

/** Creates a rate-limited request function. The caller retries, at another node first. */
function createRequest(
  { url, requestsPerSecond, times, onRetryAfter }: RequestOptions,
  { timeoutMilliseconds: timeout, maxAnswerBytes: maxResponseBodySize }: NodeLimits,
): Request {
  // viem's timeout covers only the headers, this one the body too.
  const fetchFn: typeof fetch = async (input, init) => {
    const signals = [AbortSignal.timeout(timeout), ...(init?.signal ? [init.signal] : [])]
    const response = await fetchMoved(input, { ...init, signal: AbortSignal.any(signals) })
    return response.ok ? response : withShortBody(response)
  }
  const onFetchResponse = async (response: Response): Promise<void> => {
    const { ok, status, statusText, headers } = response
    if (ok) return
    const rest = readRetryAfter(headers)
    if (rest !== null) onRetryAfter(rest)
    const text = await response.clone().text()
    if (!refusals.includes(status) && isRpcError(text)) return
    throw new HttpRequestError({ url, status, details: errorText(text.trim() === '' ? statusText : text) })
  }
  const client = getHttpRpcClient(url, { fetchFn, maxResponseBodySize, onResponse: onFetchResponse, timeout })
  let sent = 0
  const request = async (body: { method: string; params?: unknown }): Promise<unknown> => {
    const id = ++sent
    const answer: JsonRpcAnswer = await times.measure(() => client.request({ body: { ...body, id } }))
    // A gateway that mixes up its answers would otherwise give one block's state as that of another.
    if (answer.id != null && String(answer.id) !== String(id)) throw new NodeFault('gave the answer to another request')
    const { error, result } = answer
    if (error == null) return result
    throw new RpcRequestError({ body, error: { code: error.code, message: errorText(error.message) }, url })
  }
  const measured: Transport = () =>
    createTransport({
      ...{ key: 'http', name: 'HTTP', type: 'http', retryCount: 0 },
      // The result has whatever type the caller of a transport expects.
      request: request as EIP1193RequestFn,
    })
  // A request is measured within the rate limit: before, it may wait for its turn.
  const limited = rateLimit(measured, { requestsPerSecond, browser: false })
  const transport: Transport = (options) => limited({ ...options, retryCount: 0, timeout })
  const send = createClient({ transport }).request as Request
  return async (body) => {
    try {
      return await send(body)
    } catch (cause) {
      const fault = cause instanceof BaseError ? cause.walk((one) => one instanceof NodeFault) : null
      throw fault instanceof NodeFault ? fault : new RequestFailed(body.method, body.params, { cause })
    }
  }
}

/** Returns whether the body of a response is a JSON-RPC error, which is more specific than the HTTP status. */
function isRpcError(text: string): boolean {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown } }
    return typeof error?.code === 'number'
  } catch {
    return false
  }
}

function bytes(of: string, value: unknown): Hex {
  if (!isHex(value) || value.length % 2 !== 0) throw new NodeFault(`gave no bytes for ${of}`)
  return value
}
