import { type Address, decodeEventLog, type Hex, type TransactionReceipt } from 'viem'
import { type Call, callOf, type TestChain } from './anvil.ts'
import * as artifacts from './artifacts.ts'
import type { Protocol, TestToken } from './protocol.ts'

/** A vault on a local node, its owner and its depositors. */
export type Operator = Awaited<ReturnType<typeof openVault>>

/** A decoded log, and its index in its block. */
export interface DecodedLog {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly logIndex: number
}

/**
 * Deploys a vault, and funds its depositors.
 * @param kind the contract, which has the functions of the usual vault
 * @param more constructor arguments after the asset and the owner
 */
export async function openVault(
  chain: TestChain,
  protocol: Protocol,
  asset: TestToken,
  kind = artifacts.vault,
  ...more: readonly unknown[]
) {
  const [deployer, owner, alice, bob] = chain.accounts as [Address, Address, Address, Address]
  const vault = await chain.deploy(deployer, artifacts.creationOf(kind, asset.address, owner, ...more))
  const firstBlock = await chain.head()
  const ofVault = (from: Address, name: string, ...args: unknown[]): Call => callOf(from, vault, kind.abi, name, args)
  /** Executes calls from the vault, in one transaction. */
  const run = (...calls: (readonly [Address, Hex])[]): Call =>
    ofVault(
      owner,
      'run',
      calls.map(([to]) => to),
      calls.map(([, data]) => data),
    )
  const allow = (token: TestToken, spender: Address) =>
    [token.address, protocol.approve(owner, token, spender).data] as const
  await chain.block(
    ...[alice, bob].flatMap((account) => [
      protocol.mint(account, asset, 10n ** 6n * 10n ** BigInt(asset.decimals)),
      protocol.approve(account, asset, vault),
    ]),
    run(...protocol.tokens.flatMap((token) => [allow(token, protocol.manager), allow(token, protocol.router)])),
  )
  return {
    address: vault,
    firstBlock,
    owner,
    asset,
    run,
    /** Returns a call of any of its functions. */
    callOf: ofVault,
    deposit: (from: Address, assets: bigint) => ofVault(from, 'deposit', assets, from),
    withdraw: (from: Address, assets: bigint) => ofVault(from, 'withdraw', assets, from, from),
    redeem: (from: Address, shares: bigint) => ofVault(from, 'redeem', shares, from, from),
    pause: () => ofVault(owner, 'pause'),
    unpause: () => ofVault(owner, 'unpause'),
    /** Sets the amount of the asset that the vault counts for its shares besides its idle balance. */
    report: (outside: bigint) => ofVault(owner, 'report', outside),
    sharesOf: async (account: Address) =>
      (await chain.client.readContract({
        address: vault,
        abi: artifacts.vault.abi,
        functionName: 'balanceOf',
        args: [account],
      })) as bigint,
  }
}

/** Decodes the logs of a transaction that the vault or the position manager has emitted. */
export function logsOf(receipt: TransactionReceipt, vault: Address, manager: Address): DecodedLog[] {
  const abis = new Map([
    [vault.toLowerCase(), artifacts.vault.abi],
    [manager.toLowerCase(), artifacts.manager.abi],
  ])
  return receipt.logs.flatMap((log) => {
    const abi = abis.get(log.address.toLowerCase())
    if (abi === undefined) return []
    const { eventName, args } = decodeEventLog({ abi, topics: log.topics, data: log.data })
    return [{ name: String(eventName), args: args as unknown as Record<string, unknown>, logIndex: log.logIndex }]
  })
}
