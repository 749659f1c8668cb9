import type { Address } from 'viem'
import type { ContractCall } from './calls/contract-call.ts'
import { CallBatches } from './calls/call-batches.ts'
import { aggregate, type AggregatedResults, type CallResult } from './calls/aggregate.ts'
import { SlowRequest } from './calls/slow-calls.ts'
import type { Header } from './block.ts'
import { NodeFault, ContractMismatch } from '../errors.ts'
import { emptyConfirmations, contractExists } from './contract-existence.ts'
import type { Node } from './node.ts'
import type { Rpc } from './rpc.ts'

/** The outcome of a call that reverts; null is the outcome where there is no contract. */
const failed = Symbol('failed')

/** Number of answers that confirm that a call fails, of different nodes where there are several. */
const revertConfirmations = 2

/** The Multicall3 contract of a chain, which may not exist yet at the blocks that are read. */
export class Multicall {
  /** The newest block that is known to precede the contract's creation. */
  #absentUntil = -1

  constructor(readonly address: Address) {}

  isKnownAbsentAt(block: number): boolean {
    return block <= this.#absentUntil
  }

  setAbsentAt(block: number): void {
    this.#absentUntil = Math.max(this.#absentUntil, block)
  }
}

/**
 * Reads contract state at one block, identified by its hash so that a reorganised block of the same number is never
 * read.
 * @see https://github.com/mds1/multicall3, aggregate3; EIP-1898 for calls by block hash
 */
export class BlockState {
  readonly #batches = new CallBatches((calls) => this.#readAll(calls))
  readonly #results = new Map<string, Promise<unknown>>()

  constructor(
    readonly rpc: Rpc,
    readonly multicall: Multicall,
    readonly block: Pick<Header, 'number' | 'hash'>,
  ) {}

  /**
   * Calls a contract.
   * @returns null where the call reverts or there is no contract
   */
  async read<Value>(call: ContractCall<Value>): Promise<Value | null> {
    const answer = await this.#readShared(call)
    return answer === failed ? null : answer
  }

  /**
   * Calls a contract that must answer.
   * @throws {ContractMismatch} when the call reverts or there is no contract
   */
  async readRequired<Value>(call: ContractCall<Value>): Promise<Value> {
    const value = await this.readIfThere(call, null)
    if (value === null) throw new ContractMismatch(call.to, this.block.number, `doesn't answer ${call.name}()`)
    return value
  }

  /**
   * Calls a contract that must answer once it exists; a call that fails in a batch is repeated alone.
   * @returns `absent` where there is no contract
   * @throws {ContractMismatch} when the call reverts
   */
  async readIfThere<Value, Absent>(call: ContractCall<Value>, absent: Absent): Promise<Value | Absent> {
    const shared = await this.#readShared(call)
    const answer = shared === failed ? ((await this.#callAlone(call)) as typeof shared) : shared
    if (answer === failed) throw new ContractMismatch(call.to, this.block.number, `doesn't answer ${call.name}()`)
    return answer ?? absent
  }

  #readShared<Value>(call: ContractCall<Value>): Promise<Value | null | typeof failed> {
    const key = call.to + call.data
    const answer = this.#results.get(key) ?? this.#batches.read(call)
    this.#results.set(key, answer)
    return answer as Promise<Value | null | typeof failed>
  }

  /** Reads calls as one request, or one by one at a block that is older than Multicall3. */
  async #readAll(calls: readonly ContractCall<unknown>[]): Promise<unknown[]> {
    const { multicall, rpc, block } = this
    if (calls.length > 1 && !multicall.isKnownAbsentAt(block.number)) {
      let answer = await this.#aggregate(calls)
      // The contract exists, so that a node without an answer is out of sync: retry.
      if (answer === null && (await contractExists(rpc, multicall.address, block))) {
        answer = await this.#aggregate(calls, { isThere: true })
      }
      // One call may exhaust the gas or the time limit of the whole batch.
      if (answer === 'reverted' || answer === 'too slow') return this.#readInHalves(calls)
      if (answer !== null) return this.#decodeAll(calls, answer)
      multicall.setAbsentAt(block.number)
    }
    return Promise.all(calls.map((call) => this.#callAlone(call)))
  }

  async #readInHalves(calls: readonly ContractCall<unknown>[]): Promise<unknown[]> {
    const half = Math.ceil(calls.length / 2)
    const values = await Promise.all([this.#readAll(calls.slice(0, half)), this.#readAll(calls.slice(half))])
    return values.flat()
  }

  /** Decodes results, and repeats calls that may have failed for lack of gas. */
  async #decodeAll(calls: readonly ContractCall<unknown>[], { results, hadGas }: AggregatedResults) {
    const values = calls.map((call, index) => decodeResult(call, results[index]))
    if (hadGas || !values.includes(failed)) return values
    const repeated = await this.#readInHalves(calls.filter((_, index) => values[index] === failed))
    return values.map((value) => (value === failed ? repeated.shift() : value))
  }

  /** Returns null where Multicall3 seems to be absent. */
  #aggregate(calls: readonly ContractCall<unknown>[], { isThere = false } = {}) {
    const { multicall, block } = this
    const request = this.#slowRequest()
    return this.rpc.askAt(block, async (node) => {
      const answer = await aggregate(node, multicall.address, calls, block.hash).catch((error: unknown) =>
        request.failed(node, error),
      )
      if (answer !== null || !isThere) return answer
      throw new NodeFault(`says that ${multicall.address} has no code at block ${block.number}`)
    })
  }

  #slowRequest(): SlowRequest {
    return new SlowRequest({ block: this.block, multicall: this.multicall.address })
  }

  /**
   * Makes one call. A failure counts once the next node, or a single one itself, confirms it: a node may grant less gas than
   * others, or at one time. Empty data means that there is no contract, but a node that is out of sync returns it too.
   */
  async #callAlone(call: ContractCall<unknown>): Promise<unknown> {
    const askInTurn = this.rpc.askInTurnAt(this.block)
    let [reverted, empty] = [0, 0]
    while (reverted < revertConfirmations && empty < emptyConfirmations) {
      const request = this.#slowRequest()
      const result = await askInTurn((node) => this.#callAt(node, call, request))
      if (result.success && result.returnData !== '0x') return decodeResult(call, result)
      if (result.success) empty++
      else reverted++
    }
    return empty < emptyConfirmations ? failed : null
  }

  async #callAt(node: Node, call: ContractCall<unknown>, request: SlowRequest): Promise<CallResult> {
    const returnData = await node
      .call(call.to, call.data, this.block.hash)
      .catch((error: unknown) => request.failedAlone(node, error, call))
    return returnData === 'reverted' ? { success: false, returnData: '0x' } : { success: true, returnData }
  }
}

function decodeResult(call: ContractCall<unknown>, result: CallResult | undefined): unknown {
  if (result?.success !== true) return failed
  // A call without a contract succeeds with empty return data.
  if (result.returnData === '0x') return null
  try {
    return call.decode(result.returnData)
  } catch {
    // The return data does not match the ABI.
    return failed
  }
}
