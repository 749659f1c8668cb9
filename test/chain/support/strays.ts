import { type Address, encodeFunctionData } from 'viem'
import { type Call, callOf, type TestChain } from './anvil.ts'
import * as artifacts from './artifacts.ts'
import { feeTier, type Protocol, sorted, type TestToken } from './protocol.ts'

/** Creates positions of an account that is no vault, in USDC and a token that no chain.json contains. */
export async function openStrays(chain: TestChain, protocol: Protocol) {
  const [stranger] = chain.accounts as [Address]
  const { manager, usdc } = protocol
  const junk: TestToken = {
    address: await chain.deploy(stranger, artifacts.creationOf(artifacts.token, 'JUNK', 18)),
    symbol: 'JUNK',
    decimals: 18,
  }
  const pair = [
    [junk, 10n ** 9n],
    [usdc, 10n ** 9n],
  ] as const
  const [[token0], [token1]] = sorted(pair)
  const poolArgs = [token0.address, token1.address, feeTier, 2n ** 96n]
  await chain.block(
    protocol.mint(stranger, junk, 10n ** 24n),
    protocol.approve(stranger, junk, manager),
    callOf(stranger, manager, artifacts.manager.abi, 'createAndInitializePoolIfNecessary', poolArgs),
  )
  return {
    token: junk,
    /** Mints a position in the unknown token to an account. */
    mintTo: (to: Address): Call => ({
      from: stranger,
      to: manager,
      data: protocol.mintData(to, -1_000, 1_000, pair),
    }),
  }
}

/** Transfers a position. */
export function transferOf(protocol: Protocol, from: Address, to: Address, id: bigint): Call {
  return { from, to: protocol.manager, data: transferData(from, to, id) }
}

export function transferData(from: Address, to: Address, id: bigint) {
  return encodeFunctionData({ abi: artifacts.manager.abi, functionName: 'transferFrom', args: [from, to, id] })
}
