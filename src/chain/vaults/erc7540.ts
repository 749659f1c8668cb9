import { type Address, getAddress, type Hex, padHex, parseAbi, parseAbiItem, toEventSelector } from 'viem'
import { ContractMismatch } from '../errors.ts'
import type { ChainLog } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import { readConfirmedLogs } from '../rpc/newest/agreed-logs.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { DepositRequest } from './deposit-requests.ts'
import { erc4626 } from './erc4626.ts'
import { noStatement, type VaultAdapter } from './vault-adapter.ts'
import { decodeStandardLog } from './vault-events.ts'

const requestEvents = parseAbi([
  'event DepositRequest(address indexed controller, address indexed owner, uint256 indexed requestId, address sender, uint256 assets)',
])
/** First topics of deposit requests. */
export const requestTopics: readonly Hex[] = requestEvents.map(toEventSelector)
const transferTopic = toEventSelector(parseAbiItem('event Transfer(address indexed, address indexed, uint256)'))

const requestAbi = parseAbi([
  'function supportsInterface(bytes4 interfaceId) view returns (bool)',
  'function pendingDepositRequest(uint256 requestId, address controller) view returns (uint256 assets)',
  'function claimableDepositRequest(uint256 requestId, address controller) view returns (uint256 assets)',
  'function pendingCancelDepositRequest(uint256 requestId, address controller) view returns (bool isPending)',
  'function claimableCancelDepositRequest(uint256 requestId, address controller) view returns (uint256 assets)',
])
/** ERC-165 identifier of ERC-7540 vaults with asynchronous deposits. */
const asynchronousDeposits = '0xce3bbe50'
/** ERC-165 identifier of ERC-7887 vaults, whose deposit requests can be cancelled. */
const depositCancelation = '0x8bf840e3'
/** Maximum number of deposit requests whose transfers are looked up, by one RPC request each. */
const maxRequestsSearched = 100

/**
 * Creates the adapter of ERC-7540 vaults with asynchronous deposits. The assets of a request become capital when they
 * are claimed, with the Deposit event of ERC-4626. Until then, or until a claim after a cancelation, they count as a debt
 * of the vault, if they were transferred to it. Redeem requests have no effect until the Withdraw event of their claim.
 * @see ERC-7540, https://eips.ethereum.org/EIPS/eip-7540, DepositRequest, pendingDepositRequest,
 * claimableDepositRequest; ERC-7887, https://eips.ethereum.org/EIPS/eip-7887, claimableCancelDepositRequest
 */
export function createErc7540(): VaultAdapter {
  /** Receivers of requests that were looked up. */
  const receivers = new WeakMap<DepositRequest, Promise<Receiver | null>>()
  const lookUp = (state: BlockState, asset: Address, request: DepositRequest): Promise<Receiver | null> => {
    const known = receivers.get(request) ?? receiverOf(state.rpc, asset, request)
    receivers.set(request, known)
    known.catch(() => receivers.delete(request))
    return known
  }
  /**
   * Returns whether a vault holds the assets of requests, rather than a separate contract. The newest of the open
   * requests decides whose receiver is certain: an upgrade may change the receiver, and the result must not depend on
   * where reading starts.
   * @throws {ContractMismatch} when no transfer of assets was found for any request
   */
  const isKeeper = async (
    state: BlockState,
    vault: Address,
    asset: Address,
    requests: readonly DepositRequest[],
  ): Promise<boolean> => {
    let uncertain: Receiver | null = null
    for (const request of newestFirst(requests).slice(0, maxRequestsSearched)) {
      const receiver = await lookUp(state, asset, request)
      if (receiver?.isCertain === true) return receiver.address === vault
      uncertain ??= receiver
    }
    if (uncertain !== null) return uncertain.address === vault
    throw new ContractMismatch(vault, state.block.number, 'has requests whose assets were not transferred')
  }
  return {
    ...erc4626,
    name: 'ERC-7540',
    topics: [...erc4626.topics, ...requestTopics],
    async fits(state, vault) {
      const [isAsynchronous, isVault] = await Promise.all([takesRequests(state, vault), erc4626.fits(state, vault)])
      return isVault && isAsynchronous
    },
    decodeLog(log) {
      if (!requestTopics.includes(log.topics[0] ?? '0x')) return erc4626.decodeLog(log)
      const { controller, requestId, owner, assets } = decodeStandardLog(requestEvents, log).args
      const { block, blockHash, txHash, logIndex } = log
      // A request of zero assets adds no debt, and may have no transfer.
      if (assets === 0n) return null
      return {
        kind: 'requested',
        request: { controller, requestId, owner, assets, block, blockHash, txHash, logIndex },
      }
    },
    async readStatement(state, vault, requests) {
      const { number } = state.block
      const openRequests = requests.openAt(number)
      if (openRequests.length === 0) return noStatement
      const [takes, cancels] = await Promise.all([
        takesRequests(state, vault),
        supports(state, vault, depositCancelation),
      ])
      if (!takes) return noStatement
      const units = await Promise.all(openRequests.map((one) => readOpen(state, vault, one, cancels)))
      openRequests.forEach((one, index) => units[index] === 0n && requests.settle(one, number))
      const open = units.reduce((sum, one) => sum + one, 0n)
      const [token] = await erc4626.readAssets(state, vault)
      if (open === 0n || token === undefined) return noStatement
      const unsettled = openRequests.filter((_, index) => units[index] !== 0n)
      return (await isKeeper(state, vault, token, unsettled))
        ? { debts: [{ token, units: open }], totals: null }
        : noStatement
    },
  }
}

/**
 * Creates the adapter of ERC-4626 vaults, which may become vaults of ERC-7540 by an upgrade: then their requests count
 * from that block on.
 */
export function createErc4626(asynchronous: VaultAdapter): VaultAdapter {
  return { ...asynchronous, name: erc4626.name, fits: (state, vault) => erc4626.fits(state, vault) }
}

/** Returns whether a vault takes deposit requests at a block. */
export function takesRequests(state: BlockState, vault: Address): Promise<boolean> {
  return supports(state, vault, asynchronousDeposits)
}

async function supports(state: BlockState, vault: Address, interfaceId: Hex): Promise<boolean> {
  return (await state.read(contractCall(requestAbi, vault, 'supportsInterface', [interfaceId]))) === true
}

function newestFirst(requests: readonly DepositRequest[]): DepositRequest[] {
  return requests.toSorted((a, b) => b.block - a.block || b.logIndex - a.logIndex)
}

/**
 * Reads the unclaimed assets of all requests of an id and controller, also of cancelled ones. Where the vault does not
 * count a request as pending any more while its cancelation is, no function returns the amount: that of the log counts.
 * @throws {ContractMismatch} when the vault does not answer
 */
async function readOpen(
  state: BlockState,
  vault: Address,
  { requestId, controller, assets }: DepositRequest,
  cancels: boolean,
): Promise<bigint> {
  const args = [requestId, controller] as const
  const [pending, claimable, cancelled, isCancelling] = await Promise.all([
    state.readRequired(contractCall(requestAbi, vault, 'pendingDepositRequest', args)),
    state.readRequired(contractCall(requestAbi, vault, 'claimableDepositRequest', args)),
    cancels ? state.readRequired(contractCall(requestAbi, vault, 'claimableCancelDepositRequest', args)) : 0n,
    cancels && state.readRequired(contractCall(requestAbi, vault, 'pendingCancelDepositRequest', args)),
  ])
  return claimable + cancelled + (isCancelling && pending === 0n ? assets : pending)
}

/** The receiver of a request's assets. Other vaults than keepers have a separate contract, which pays on claim. */
interface Receiver {
  readonly address: Address
  /** Whether no other transfer can have been that of the request. */
  readonly isCertain: boolean
}

/**
 * Returns the receiver of the owner's last transfer before a request in its transaction, and of the first one after it:
 * vaults transfer the assets before or after they log the request. Where the receivers differ, the owner may have made
 * the other transfer: then the one of the request's amount counts, or else the one before. Null without a transfer.
 */
async function receiverOf(
  rpc: Rpc,
  asset: Address,
  { owner, assets, block, blockHash, txHash, logIndex }: DepositRequest,
): Promise<Receiver | null> {
  const filter = { address: asset, topics: [transferTopic, padHex(owner, { size: 32 })] }
  // The answer is kept for as long as the request is open.
  const logs = await readConfirmedLogs(rpc, filter, { number: block, hash: blockHash })
  const transfers = logs.filter((log) => log.txHash === txHash && log.topics.length === 3 && log.data.length === 66)
  const before = transfers.filter((log) => log.logIndex < logIndex).reverse()
  const after = transfers.filter((log) => log.logIndex > logIndex)
  const near = [before, after].flatMap((some) => nearestTransfer(some, assets) ?? [])
  const chosen = near.find(({ isExact }) => isExact) ?? near[0]
  if (chosen === undefined) return null
  return { address: chosen.receiver, isCertain: near.every(({ receiver }) => receiver === chosen.receiver) }
}

/** The transfer of a request's assets. */
interface AssetTransfer {
  readonly receiver: Address
  /** Whether the amounts of its logs are those of the request. */
  readonly isExact: boolean
}

/**
 * Returns the transfer next to a request. A fee-on-transfer token may log the part that it takes as another transfer,
 * before or after the rest: together they have the request's amount, and the greatest of them is the transfer.
 * @param logs transfers before or after the request, the nearest first
 */
function nearestTransfer(logs: readonly ChainLog[], assets: bigint): AssetTransfer | null {
  let sum = 0n
  for (const [index, log] of logs.entries()) {
    sum += BigInt(log.data)
    if (sum > assets) break
    if (sum < assets) continue
    const parts = logs.slice(0, index + 1)
    const greatest = parts.reduce((most, one) => (BigInt(one.data) > BigInt(most.data) ? one : most), log)
    return { receiver: receiverIn(greatest), isExact: true }
  }
  const [nearest] = logs
  return nearest === undefined ? null : { receiver: receiverIn(nearest), isExact: false }
}

function receiverIn({ topics }: ChainLog): Address {
  return getAddress(`0x${topics[2]?.slice(26) ?? ''}`)
}
