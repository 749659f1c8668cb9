import {
  type Address,
  decodeEventLog,
  decodeFunctionData,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  toFunctionSelector,
} from 'viem'
import type { TestChain } from './anvil.ts'
import * as artifacts from './artifacts.ts'
import type { TestToken } from './protocol.ts'
import type { V4 } from './v4.ts'

/** Amounts that a position pays when everything is taken out of it. */
export interface V4Paid {
  readonly rewards0: bigint
  readonly rewards1: bigint
  readonly principal0: bigint
  readonly principal1: bigint
}

/** A change of liquidity with the amounts that the PoolManager has returned to its caller. */
export interface ReportedModification {
  readonly logIndex: number
  readonly number: bigint
  readonly liquidity: bigint
  readonly principal: readonly [bigint, bigint]
  readonly fees: readonly [bigint, bigint]
}

interface Trace {
  readonly to?: Address
  readonly input: Hex
  readonly output?: Hex
  readonly calls?: readonly Trace[]
}

const { abi } = artifacts.v4PoolManager
const selector = toFunctionSelector(
  'modifyLiquidity((address,address,uint24,int24,address),(int24,int24,int256,bytes32),bytes)',
)

/** Reads the amounts that positions pay from the contracts of Uniswap v4. */
export async function observeV4(chain: TestChain, v4: Pick<V4, 'poolManager' | 'manager'>) {
  const [deployer] = chain.accounts as [Address]
  const helper = await chain.deploy(deployer, artifacts.creationOf(artifacts.v4Payout))
  const code = (await chain.client.getCode({ address: helper })) as Hex
  return {
    /** Returns the amounts that each position would pay, one after another, and the balances afterwards. */
    async takeAll(
      vault: Address,
      ids: readonly bigint[],
      tokens: readonly TestToken[],
      block: number,
      manager = v4.manager,
    ) {
      const payout = artifacts.v4Payout.abi
      const args = [manager, ids, tokens.map(({ address }) => address)]
      const { data = '0x' } = await chain.client.call({
        to: vault,
        data: encodeFunctionData({ abi: payout, functionName: 'takeAll', args }),
        stateOverride: [{ address: vault, code }],
        blockNumber: BigInt(block),
      })
      type Answer = readonly [readonly V4Paid[], readonly bigint[]]
      return decodeFunctionResult({ abi: payout, functionName: 'takeAll', data }) as Answer
    },
    /** Returns the changes of liquidity in a transaction, with the return values of the PoolManager from its trace. */
    async modificationsIn(txHash: Hex): Promise<ReportedModification[]> {
      const params = [txHash, { tracer: 'callTracer' }]
      const trace = (await chain.request({ method: 'debug_traceTransaction', params })) as Trace
      const calls = flatten(trace).filter(({ to, input }) => isPoolManager(to) && input.startsWith(selector))
      const { logs } = await chain.receiptOf(txHash)
      const logIndexes = logs.flatMap((log) => {
        if (!isPoolManager(log.address)) return []
        const { eventName } = decodeEventLog({ abi, topics: log.topics, data: log.data })
        return String(eventName) === 'ModifyLiquidity' ? [log.logIndex] : []
      })
      return calls.map(({ input, output = '0x' }, index) => readCall(input, output, logIndexes[index] as number))
    },
  }

  function isPoolManager(address: Address | undefined): boolean {
    return address?.toLowerCase() === v4.poolManager.toLowerCase()
  }
}

function readCall(input: Hex, output: Hex, logIndex: number): ReportedModification {
  const { args } = decodeFunctionData({ abi, data: input })
  const [, params] = args as unknown as readonly [unknown, { readonly liquidityDelta: bigint; readonly salt: Hex }]
  const data = { abi, functionName: 'modifyLiquidity', data: output }
  const [whole, fees] = decodeFunctionResult(data) as readonly [bigint, bigint]
  const [caller, accrued] = [deltasIn(whole), deltasIn(fees)]
  const principal = [caller[0] - accrued[0], caller[1] - accrued[1]] as const
  return { logIndex, number: BigInt(params.salt), liquidity: params.liquidityDelta, principal, fees: accrued }
}

/** @see Uniswap v4 Core, BalanceDelta.sol: amount0 is in the upper half */
function deltasIn(word: bigint): readonly [bigint, bigint] {
  return [BigInt.asIntN(128, word >> 128n), BigInt.asIntN(128, word)]
}

function flatten(trace: Trace): Trace[] {
  return [trace, ...(trace.calls ?? []).flatMap(flatten)]
}
