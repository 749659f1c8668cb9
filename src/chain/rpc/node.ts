import { rateLimit } from '@ponder/utils'
import { type Address, createClient, type Hex, http, HttpRequestError, isHex, numberToHex, type Transport } from 'viem'
import { type Header, type ChainLog, readHeader, readLogs, readQuantity, readReceiptLogs } from './block.ts'
import type { NodeConfig } from '../config.ts'
import { NodeFault, RequestFailed } from '../errors.ts'
import { type ExplainedFault, explainFault } from './faults.ts'
import { HeaderHashes } from './newest/header-hash.ts'

/** Limits on the answers of a node. */
export interface NodeLimits {
  /** Time limit for a complete answer. */
  readonly timeoutMilliseconds: number
  /** Maximum decompressed size of an answer: the logs of a block of 60 million gas can be 100 MB of JSON. */
  readonly maxAnswerBytes: number
}

const defaultLimits: NodeLimits = { timeoutMilliseconds: 20_000, maxAnswerBytes: 128 * 2 ** 20 }

/** Maximum size that is read of the body of an HTTP error. */
const maxErrorBytes = 65_536

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

/** Creates a client of a node. */
export function connectNode({ url, requestsPerSecond }: NodeConfig, limits = defaultLimits): Node {
  let restsUntil = 0
  const onRetryAfter = (milliseconds: number): void => {
    restsUntil = performance.now() + Math.min(milliseconds, maxRestMilliseconds)
  }
  const hashes = new HeaderHashes()
  const request = createRequest(url, requestsPerSecond, onRetryAfter, limits)
  const logs = async (filter: LogFilter, of: Record<string, Hex>): Promise<ChainLog[]> => {
    const answer = await request({ method: 'eth_getLogs', params: [{ ...filter, ...of }] })
    return readLogs(answer)
  }
  return {
    name: new URL(url).host,
    chainId: async () => readQuantity(await request({ method: 'eth_chainId', params: [] })),
    async block(at) {
      const tag = typeof at === 'number' ? numberToHex(at) : at
      const answer = await request({ method: 'eth_getBlockByNumber', params: [tag, false] })
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
      bytes(await request({ method: 'eth_getCode', params: [address, { blockHash }] })),
    async balance(account, blockHash) {
      const balance = await request({ method: 'eth_getBalance', params: [account, { blockHash }] })
      if (!isHex(balance) || balance === '0x') throw new NodeFault('gave no number for a balance')
      return BigInt(balance)
    },
    call: async (to, data, blockHash) =>
      bytes(await request({ method: 'eth_call', params: [{ to, data }, { blockHash }] })),
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

/** HTTP statuses of a node that has moved. After the first two, fetch itself would send a GET in place of a POST. */
const redirects: readonly number[] = [301, 302, 307, 308]
const maxRedirects = 5

/** Creates a rate-limited request function. The caller retries, at another node first. */
function createRequest(
  url: string,
  requestsPerSecond: number,
  onRetryAfter: (milliseconds: number) => void,
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
    throw new HttpRequestError({ url, status, details: text.trim() === '' ? statusText : text })
  }
  const limited = rateLimit(http(url, { retryCount: 0, timeout, maxResponseBodySize, fetchFn, onFetchResponse }), {
    requestsPerSecond,
    browser: false,
  })
  const transport: Transport = (options) => limited({ ...options, retryCount: 0, timeout })
  const send = createClient({ transport }).request as Request
  return async (body) => {
    try {
      return await send(body)
    } catch (cause) {
      throw new RequestFailed(body.method, usesBlockHash(body), { cause })
    }
  }
}

/** Sends a request, and again where the node has moved to; without credentials where that is another host. */
async function fetchMoved(at: Parameters<typeof fetch>[0], init: RequestInit, left = maxRedirects): Promise<Response> {
  const response = await fetch(at, { ...init, redirect: 'manual' })
  const { status, url, body } = response
  const location = redirects.includes(status) ? response.headers.get('location') : null
  if (location === null || left === 0 || !URL.canParse(location, url)) return response
  await body?.cancel()
  const to = new URL(location, url)
  const headers = new Headers(init.headers)
  if (to.origin !== new URL(url).origin) headers.delete('authorization')
  return fetchMoved(to, { ...init, headers }, left - 1)
}

/** Reads the start of a response's body, and cancels the rest. */
async function withShortBody({ body, status, statusText, headers }: Response): Promise<Response> {
  const read: Uint8Array[] = []
  const reader = body?.getReader()
  for (let bytes = 0; reader !== undefined && bytes < maxErrorBytes;) {
    // The status is still useful where the body is incomplete or times out.
    const { value } = await reader.read().catch(() => ({ value: undefined }))
    if (value === undefined) break
    read.push(value)
    bytes += value.byteLength
  }
  await reader?.cancel().catch(() => undefined)
  // Some statuses, such as 304, permit no body, not even an empty one.
  const bytes = read.length === 0 ? null : Buffer.concat(read).subarray(0, maxErrorBytes)
  return new Response(bytes, { status, statusText, headers })
}

/**
 * Reads the pause that a node requests.
 * @returns milliseconds; null without a valid Retry-After
 * @see RFC 9110, section 10.2.3, Retry-After: seconds, or a date
 */
function readRetryAfter(headers: Headers): number | null {
  const text = headers.get('retry-after')
  if (text === null || text.trim() === '') return null
  const seconds = Number(text)
  const milliseconds = Number.isNaN(seconds)
    ? Date.parse(text) - Date.parse(headers.get('date') ?? '')
    : seconds * 1_000
  return milliseconds > 0 ? milliseconds : null
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

function usesBlockHash({ params }: RequestBody): boolean {
  return params.some((param) => typeof param === 'object' && param !== null && 'blockHash' in param)
}

function bytes(value: unknown): Hex {
  if (!isHex(value) || value.length % 2 !== 0) throw new NodeFault('gave no bytes for a call')
  return value
}
