import {
  type Abi,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
} from 'viem'
import { aggregate, type AggregatedResults, type CallResult } from './calls/aggregate.ts'
import type { Header } from './block.ts'
import { NodeFault, ContractMismatch } from '../errors.ts'
import { confirmations, contractExists } from './contract-existence.ts'
import { revertedOrThrow } from './faults.ts'
import type { Node } from './node.ts'
import type { Rpc } from './rpc.ts'

/**
 * Maximum calls in one request. They take 5,000 to 10,000 gas each, since contracts stay warm within a request, and have
 * to fit the 50 million that most nodes grant it; those of 2,000 calls are a megabyte of JSON.
 */
const maxCalls = 2_000

/** An encoded call of a contract's view function. */
export interface ContractCall<Value> {
  readonly to: Address
  readonly data: Hex
  readonly name: string
  decode(data: Hex): Value
}

/** Encodes a call of a view function. */
export function contractCall<
  const abi extends Abi,
  name extends ContractFunctionName<abi, 'view'>,
  const args extends ContractFunctionArgs<abi, 'view', name>,
>(abi: abi, to: Address, name: name, args: args): ContractCall<ContractFunctionReturnType<abi, 'view', name, args>> {
  // The signature above types the call for callers; viem's own types cannot be resolved for a generic ABI.
  const functionName: string = name
  return {
    to,
    name,
    data: encodeFunctionData<Abi, string>({ abi, functionName, args: args as readonly unknown[] }),
    decode: (data) =>
      decodeFunctionResult<Abi, string>({ abi, functionName, data }) as ContractFunctionReturnType<
        abi,
        'view',
        name,
        args
      >,
  }
}

/** The outcome of a call that reverts; null stands for a call where there is no contract. */
const failed = Symbol('failed')

/** The Multicall3 contract of a chain, which may be younger than the blocks that are read. */
export class Multicall {
  /** The newest block that is known to be without it. */
  #absentUntil = -1

  constructor(readonly address: Address) {}

  isKnownAbsentAt(block: number): boolean {
    return block <= this.#absentUntil
  }

  setAbsentAt(block: number): void {
    this.#absentUntil = Math.max(this.#absentUntil, block)
  }
}

interface PendingCall {
  readonly call: ContractCall<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads contract state at one block, identified by its hash so that a reorganised block of the same number is never
 * read. Calls of one event-loop turn are sent as one request.
 * @see https://github.com/mds1/multicall3, aggregate3; EIP-1898 for calls by block hash
 */
export class BlockState {
  #waiting: PendingCall[] = []
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
    const value = await this.readIfThere<Value | null>(call, null)
    if (value === null) throw new ContractMismatch(call.to, this.block.number, `doesn't answer ${call.name}()`)
    return value
  }

  /**
   * Calls a contract that must answer as soon as it is there; a call that fails beside others is repeated alone.
   * @returns `absent` where there is no contract
   * @throws {ContractMismatch} when the call reverts
   */
  async readIfThere<Value>(call: ContractCall<Value>, absent: Value): Promise<Value> {
    const shared = await this.#readShared(call)
    const answer = shared === failed ? ((await this.#readSingly(call)) as typeof shared) : shared
    if (answer === failed) throw new ContractMismatch(call.to, this.block.number, `doesn't answer ${call.name}()`)
    return answer ?? absent
  }

  #readShared<Value>(call: ContractCall<Value>): Promise<Value | null | typeof failed> {
    const key = call.to + call.data
    const answer = this.#results.get(key) ?? this.#enqueue(call)
    this.#results.set(key, answer)
    return answer as Promise<Value | null | typeof failed>
  }

  #enqueue(call: ContractCall<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#send())
      this.#waiting.push({ call, resolve, reject })
    })
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (let from = 0; from < waiting.length; from += maxCalls) {
      const some = waiting.slice(from, from + maxCalls)
      this.#readAll(some.map((one) => one.call)).then(
        (values) => some.forEach(({ resolve }, index) => resolve(values[index])),
        (error: unknown) => some.forEach(({ reject }) => reject(error)),
      )
    }
  }

  /** Reads calls as one request, or one by one at a block that is older than Multicall3. */
  async #readAll(calls: readonly ContractCall<unknown>[]): Promise<unknown[]> {
    const { multicall, rpc, block } = this
    if (calls.length > 1 && !multicall.isKnownAbsentAt(block.number)) {
      let answer = await this.#aggregate(calls)
      // A contract that is there must answer: then a node is wrong.
      if (answer === null && (await contractExists(rpc, multicall.address, block))) {
        answer = await this.#aggregate(calls, { isThere: true })
      }
      // One may use up the gas of all.
      if (answer === 'reverted') return this.#readInHalves(calls)
      if (answer !== null) return this.#decodeAll(calls, answer)
      multicall.setAbsentAt(block.number)
    }
    return Promise.all(calls.map((call) => this.#readSingly(call)))
  }

  async #readInHalves(calls: readonly ContractCall<unknown>[]): Promise<unknown[]> {
    const half = Math.ceil(calls.length / 2)
    const values = await Promise.all([this.#readAll(calls.slice(0, half)), this.#readAll(calls.slice(half))])
    return values.flat()
  }

  /** Decodes answers, and repeats the calls that may have failed for want of gas. */
  async #decodeAll(calls: readonly ContractCall<unknown>[], { results, hadGas }: AggregatedResults) {
    const values = calls.map((call, index) => decodeResult(call, results[index]))
    if (hadGas || !values.includes(failed)) return values
    const repeated = await this.#readInHalves(calls.filter((_, index) => values[index] === failed))
    return values.map((value) => (value === failed ? repeated.shift() : value))
  }

  /** Returns null where Multicall3 seems to be absent. */
  #aggregate(calls: readonly ContractCall<unknown>[], { isThere = false } = {}) {
    const { multicall, block } = this
    return this.rpc.askAt(block, async (node) => {
      const answer = await aggregate(node, multicall.address, calls, block.hash).catch(revertedOrThrow)
      if (answer !== null || !isThere) return answer
      throw new NodeFault(`says that ${multicall.address} has no code at block ${block.number}`)
    })
  }

  async #readSingly(call: ContractCall<unknown>): Promise<unknown> {
    // Empty data means that there is no contract, which a node out of sync may say too.
    for (let empty = 0; empty < confirmations; empty++) {
      const result = await this.rpc.askAt(this.block, (node) => this.#callAt(node, call))
      if (!result.success || result.returnData !== '0x') return decodeResult(call, result)
    }
    return null
  }

  async #callAt(node: Node, { to, data }: ContractCall<unknown>): Promise<CallResult> {
    const returnData = await node.call(to, data, this.block.hash).catch(revertedOrThrow)
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
