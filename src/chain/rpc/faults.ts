import { BaseError, HttpRequestError, ResponseBodyTooLargeError, RpcRequestError, TimeoutError } from 'viem'
import { CallTooSlow, NodeFault, NodeResting, NoFinalizedBlock, RequestFailed } from '../errors.ts'
import {
  accessDenied,
  type LastingFault,
  noCallsByHash,
  noFinalizedBlock,
  noFinalizedTag,
  noMethod,
  noOldState,
  otherFork,
  rateLimited,
  statusFaults,
  unexplained,
} from './nodes/lasting-faults.ts'
import { withoutSecrets } from './url-secrets.ts'

/** A failed request to a node. */
export interface ExplainedFault {
  /** The reason as a predicate of the node, without the secrets in its URL. */
  readonly reason: string
  /** Null for a temporary fault, such as an outage. */
  readonly lasting: LastingFault | null
}

const passingStatuses: readonly number[] = [408, 425]

/** JSON-RPC errors of rate limits: EIP-1474's code, and the HTTP status as a code. */
const rateLimitCodes: readonly number[] = [-32_005, 429]
const rateLimitText = /rate.?limit|too many requests|throttl|limit exceeded|quota|capacity|credits/i
const deniedText =
  /unauthori[sz]ed|unauthenticated|must be authenticated|access (is )?denied|forbidden|(invalid|missing|unknown|wrong) (api|project|access|auth)[ -]?\w*|(api|access|project)[ -]?(key|token|id) .*(invalid|missing|not (allowed|found|valid)|disabled|expired|required)/i
const noOldStateText =
  /missing trie node|BlockOutOfRange|header (for hash )?not found|pruned|\barchiv|histor\w* state|no state|state( \w+)* (not|un) ?available|state (is )?(missing|not found)|proof window|state histor|unknown block|block (with such hash |hash )?(was )?(not found|does not exist)|(could ?n[o']t|cannot|can't) find block/i
const badFormText =
  /unmarshal|hex string without 0x|invalid (argument|param|type|value|block|request)|cannot wrap|eip-?1898|block ?hash|supplied to|expected .*(string|block|number|tag)/i
const missingMethodText = /method .*(not (found|available|supported|allowed)|does ?n[o']t exist|does not exist)/i
const prunedText = /missing trie node|pruned/i

/** Reverts of geth and its forks, and of clients built on revm, such as reth and anvil, with revm's error names. */
const revertText =
  /revert|vm (execution|exception)|invalid ?(fe ?)?(opcode|jump)|bad (instruction|jump)|out ?of ?(gas|offset)|stack ?(under|over)flow|during ?static ?call|insidestatic/i

/**
 * Other errors of executed calls in geth, Besu and Nethermind: the whole text, since a refusal may contain these words.
 * @see go-ethereum, core/vm/errors.go; Besu, ExceptionalHaltReason.java; Nethermind, EvmExceptionType.cs
 */
const haltText =
  /^(?:stack limit reached \d+ \(\d+\)|gas uint64 overflow|return data out of bounds|write protection|out of (?:stack|bounds)|illegal state change|precompile error|bad(?:instruction|jumpdestination)|(?:staticcall|access)violation)$/i

/**
 * Errors for too many or too large logs; some providers use the code of a rate limit.
 * @see Nethermind, EthRpcModule.cs, MaxLogsPerResponse; Erigon, --rpc.logs.maxresults; reth, EthFilterError
 */
const tooManyLogsText =
  /more than \d+ (results|logs)|exceed(s|ed)? (the )?max(imum)? (results|logs)|(logs|results) matched by query exceed|too many (results|logs)|response size (is )?(exceed|too)|response (is )?too (big|large)/i

/** Errors of clients that stop a call after some seconds, and of gateways that time out. */
const tooSlowText =
  /tim(ed?|ing)[ -]?out|timeout|deadline exceeded|tak(es|ing) too long|took too long|execution aborted/i
/** HTTP statuses for timeouts of a gateway or its node. */
const tooSlowStatuses: readonly number[] = [408, 504, 524]

/** Names of revm's errors, case-sensitive: providers use the same words in other spellings for refusals. */
const revertName = /\b(?:NotActivated|OpcodeNotFound)\b/

const invalidParams = -32_602
const methodNotFoundCodes: readonly number[] = [-32_601, -32_004]

/**
 * Explains why a request to a node failed.
 * @param url URL of the node, whose secrets are masked in the reason
 */
export function explainFault(error: unknown, url: string): ExplainedFault {
  if (error instanceof CallTooSlow) return { ...explainFault(error.cause, url), reason: error.message }
  const cause = error instanceof RequestFailed ? error.cause : error
  const text = (words: string): string => withoutSecrets(words, url)
  if (cause instanceof NoFinalizedBlock) return { reason: cause.message, lasting: noFinalizedBlock }
  // The same text for each block: it is logged once per interval.
  if (cause instanceof NodeFault && cause.isOnOtherFork)
    return { reason: 'gave a block that does not follow on those that were read', lasting: otherFork }
  if (cause instanceof NodeResting) return { reason: cause.message, lasting: null }
  if (!(cause instanceof BaseError)) return { reason: text((cause as Error).message), lasting: unexplained }
  const answered = cause.walk((one) => one instanceof RpcRequestError)
  if (answered instanceof RpcRequestError) {
    const { code, details } = answered
    const tag = error instanceof RequestFailed && error.usesFinalized ? ' for the block "finalized"' : ''
    const method = error instanceof RequestFailed ? ` ${error.method}${tag}` : ''
    const reason = `answers${method} with the error ${code}${details === '' ? '' : `: ${text(details)}`}`
    return { reason, lasting: lastingRpcFault(code, details, error) }
  }
  if (isTimeout(cause)) return { reason: "doesn't answer in time", lasting: null }
  const tooLong = findTooLong(cause)
  if (tooLong !== null) return { reason: `gave an answer of more than ${tooLong.maxSize} bytes`, lasting: unexplained }
  if (cause instanceof HttpRequestError) return explainHttp(cause, text)
  return { reason: `gave an answer that can't be read: ${text(cause.shortMessage)}`, lasting: unexplained }
}

/** Returns the error of a response body above the size limit; null for any other error. */
export function findTooLong(error: unknown): ResponseBodyTooLargeError | null {
  const found = error instanceof BaseError ? error.walk((one) => one instanceof ResponseBodyTooLargeError) : null
  return found instanceof ResponseBodyTooLargeError ? found : null
}

/** Returns whether a response did not start or did not finish in time. */
function isTimeout(error: BaseError): boolean {
  return error.walk((one) => one instanceof TimeoutError || (one as Error | null)?.name === 'TimeoutError') !== null
}

/**
 * Handles the error of a call.
 * @returns `reverted` for one that was executed and reverted
 * @throws any other error
 */
export function revertedOrThrow(error: unknown): 'reverted' {
  if (isRevert(error)) return 'reverted'
  throw error
}

/** Returns whether a request took a node too long: the node stopped the execution, or the response timed out. */
export function isTooSlow(error: unknown): boolean {
  const cause = error instanceof RequestFailed ? error.cause : error
  const answered = answeredError(error)
  if (answered !== null) return tooSlowText.test(answered.details) && !rateLimitText.test(answered.details)
  if (!(cause instanceof BaseError)) return false
  return isTimeout(cause) || (cause instanceof HttpRequestError && tooSlowStatuses.includes(cause.status ?? 0))
}

/** Returns whether a node has refused a request for logs because of their number or size. */
export function isRefusedForNumber(error: unknown): boolean {
  return tooManyLogsText.test(answeredError(error)?.details ?? '')
}

/** Returns the JSON-RPC error in a node's response; null for any other error. */
function answeredError(error: unknown): RpcRequestError | null {
  const cause = error instanceof RequestFailed ? error.cause : error
  const answered = cause instanceof BaseError ? cause.walk((one) => one instanceof RpcRequestError) : null
  return answered instanceof RpcRequestError ? answered : null
}

/** Returns whether a failed call was executed and reverted, by the error formats of all common clients. */
export function isRevert(error: unknown): boolean {
  const answered = answeredError(error)
  if (answered === null) return false
  // Codes of a revert: 3 in geth, -32015 in Nethermind and OpenEthereum.
  if ([3, -32_015].includes(answered.code)) return true
  return [revertText, revertName, haltText].some((text) => text.test(answered.details))
}

function explainHttp({ status, details, cause }: HttpRequestError, text: (words: string) => string): ExplainedFault {
  if (status === undefined) {
    if (cause instanceof SyntaxError) return { reason: 'gave an answer that is not JSON', lasting: unexplained }
    // fetch wraps the system error as the cause of a generic "fetch failed".
    const { code, message } = (cause instanceof Error ? (cause.cause ?? {}) : {}) as { code?: string; message?: string }
    return { reason: `can't be reached: ${text(code ?? message ?? details)}`, lasting: null }
  }
  const reason = `answers with HTTP ${status}${details === '' ? '' : `: ${text(details)}`}`
  if (status >= 500 || passingStatuses.includes(status)) return { reason, lasting: null }
  if (status === 429 || rateLimitText.test(details)) return { reason, lasting: rateLimited }
  return { reason, lasting: statusFaults[status] ?? unexplained }
}

function lastingRpcFault(code: number, details: string, error: unknown): LastingFault {
  if (tooManyLogsText.test(details)) return unexplained
  if (rateLimitCodes.includes(code) || rateLimitText.test(details)) return rateLimited
  if (deniedText.test(details)) return accessDenied
  if (methodNotFoundCodes.includes(code) || missingMethodText.test(details)) return noMethod
  const isOfForm = code === invalidParams || badFormText.test(details)
  if (error instanceof RequestFailed && error.usesFinalized) return isOfForm ? noFinalizedTag : noFinalizedBlock
  const usesBlockHash = error instanceof RequestFailed && error.usesBlockHash
  // Providers refuse too wide ranges of logs with any text, which must not count as missing state.
  if (!usesBlockHash) return prunedText.test(details) ? noOldState : unexplained
  if (noOldStateText.test(details)) return noOldState
  return isOfForm ? noCallsByHash : unexplained
}
