import {
  type Abi,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  multicall3Abi,
} from 'viem'
import type { Header } from './block.ts'
import { NodeFault, UnlikeItsStandard } from '../errors.ts'
import type { Rpc } from './rpc.ts'

/** As many as fit into the gas that providers give a call: a position is some 30,000. */
const mostCalls = 500

/** A question to a contract. */
export interface ContractCall<Value> {
  readonly to: Address
  readonly data: Hex
  readonly name: string
  decode(data: Hex): Value
}

export function contractCall<
  const abi extends Abi,
  name extends ContractFunctionName<abi, 'view'>,
  const args extends ContractFunctionArgs<abi, 'view', name>,
>(abi: abi, to: Address, name: name, args: args): ContractCall<ContractFunctionReturnType<abi, 'view', name, args>> {
  // The types above hold for whoever asks; viem's own can't be followed for an interface that isn't known here.
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

interface Waiting {
  readonly question: ContractCall<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * What contracts say at one block, known by its hash: another block of the same number is never asked. Questions that
 * are asked in the same turn, by whomever, go in one call.
 */
export class BlockState {
  #waiting: Waiting[] = []
  readonly #asked = new Map<string, Promise<unknown>>()

  constructor(
    readonly rpc: Rpc,
    readonly multicall: Address,
    readonly block: Pick<Header, 'number' | 'hash'>,
  ) {}

  /** The answer, or null where the contract refuses or isn't there. */
  read<Value>(asked: ContractCall<Value>): Promise<Value | null> {
    const key = asked.to + asked.data
    const answer = this.#asked.get(key) ?? this.#enqueue(asked)
    this.#asked.set(key, answer)
    return answer as Promise<Value | null>
  }

  /** @throws {UnlikeItsStandard} where the contract refuses or isn't there */
  async must<Value>(asked: ContractCall<Value>): Promise<Value> {
    const value = await this.read(asked)
    if (value === null) throw new UnlikeItsStandard(asked.to, this.block.number, `doesn't answer ${asked.name}()`)
    return value
  }

  #enqueue(asked: ContractCall<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#send())
      this.#waiting.push({ question: asked, resolve, reject })
    })
  }

  #send(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (let from = 0; from < waiting.length; from += mostCalls) {
      const some = waiting.slice(from, from + mostCalls)
      this.#ask(some.map((one) => one.question)).then(
        (values) => some.forEach(({ resolve }, index) => resolve(values[index])),
        (error: unknown) => some.forEach(({ reject }) => reject(error)),
      )
    }
  }

  /* viem's own multicall takes a request that was lost for contracts that refuse, which must be told apart. */
  async #ask(questions: readonly ContractCall<unknown>[]): Promise<unknown[]> {
    const calls = questions.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))
    const data = encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [calls] })
    return this.rpc.ask(async (node) => {
      const answer = await node.call(this.multicall, data, this.block.hash)
      if (answer === '0x') throw new NodeFault(`says that ${this.multicall} has no code at block ${this.block.number}`)
      const results = decodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', data: answer })
      if (results.length !== questions.length) throw new NodeFault('gave fewer answers than there were calls')
      return questions.map((asked, index) => decoded(asked, results[index]))
    })
  }
}

function decoded(asked: ContractCall<unknown>, result: { success: boolean; returnData: Hex } | undefined): unknown {
  // Where there is no contract a call succeeds, and says nothing.
  if (result?.success !== true || result.returnData === '0x') return null
  try {
    return asked.decode(result.returnData)
  } catch {
    // It answers, but not what its standard says.
    return null
  }
}
