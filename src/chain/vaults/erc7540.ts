import { type Address, getAddress, type Hex, padHex, parseAbi, parseAbiItem, toEventSelector } from 'viem'
import { ContractMismatch } from '../errors.ts'
import { readMatchingLogs } from '../rpc/bloom.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
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
])
/** ERC-165 identifier of ERC-7540 vaults with asynchronous deposits. */
const asynchronousDeposits = '0xce3bbe50'
/** Maximum number of deposit requests whose transfers are looked up, by one RPC request each. */
const maxRequestsSearched = 100

/**
 * Creates the adapter of ERC-7540 vaults with asynchronous deposits. The assets of a request become capital when they
 * are claimed, with the Deposit event of ERC-4626. Until then they count as a debt of the vault, if they were
 * transferred to it. Redeem requests have no effect until the Withdraw event of their claim.
 * @see ERC-7540, https://eips.ethereum.org/EIPS/eip-7540, DepositRequest, pendingDepositRequest,
 * claimableDepositRequest
 */
export function createErc7540(): VaultAdapter {
  /** Whether a vault holds the assets of requests, rather than a separate contract. */
  const keepers = new Map<Address, Promise<boolean>>()
  const isKeeper = (
    state: BlockState,
    vault: Address,
    asset: Address,
    requests: readonly DepositRequest[],
  ): Promise<boolean> => {
    const known = keepers.get(vault) ?? readIsKeeper(state, vault, asset, requests)
    keepers.set(vault, known)
    known.catch(() => keepers.delete(vault))
    return known
  }
  return {
    ...erc4626,
    name: 'ERC-7540',
    topics: [...erc4626.topics, ...requestTopics],
    async fits(state, vault) {
      const [isAsynchronous, isVault] = await Promise.all([
        state.read(contractCall(requestAbi, vault, 'supportsInterface', [asynchronousDeposits])),
        erc4626.fits(state, vault),
      ])
      return isVault && isAsynchronous === true
    },
    readLog(log) {
      if (!requestTopics.includes(log.topics[0] ?? '0x')) return erc4626.readLog(log)
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
      const asked = requests.openAt(number)
      const units = await Promise.all(asked.map((one) => readOpen(state, vault, one)))
      asked.forEach((one, index) => units[index] === 0n && requests.settle(one, number))
      const open = units.reduce((sum, one) => sum + one, 0n)
      const [token] = await erc4626.readAssets(state, vault)
      if (open === 0n || token === undefined) return noStatement
      const unsettled = asked.filter((_, index) => units[index] !== 0n)
      return (await isKeeper(state, vault, token, unsettled))
        ? { debts: [{ token, units: open }], totals: null }
        : noStatement
    },
  }
}

/**
 * Reads the unclaimed assets of all requests of an id and controller.
 * @throws {ContractMismatch} when the vault does not answer
 */
async function readOpen(state: BlockState, vault: Address, { requestId, controller }: DepositRequest): Promise<bigint> {
  const [pending, claimable] = await Promise.all([
    state.readRequired(contractCall(requestAbi, vault, 'pendingDepositRequest', [requestId, controller])),
    state.readRequired(contractCall(requestAbi, vault, 'claimableDepositRequest', [requestId, controller])),
  ])
  return pending + claimable
}

/**
 * Returns whether a vault holds the assets of requests: other vaults have a separate contract that pays on claim.
 * @throws {ContractMismatch} when no transfer of assets was found for any request
 */
async function readIsKeeper(
  { rpc, block }: BlockState,
  vault: Address,
  asset: Address,
  requests: readonly DepositRequest[],
): Promise<boolean> {
  for (const request of requests.slice(0, maxRequestsSearched)) {
    const receiver = await receiverOf(rpc, asset, request)
    if (receiver !== null) return receiver === vault
  }
  throw new ContractMismatch(vault, block.number, 'has requests whose assets were not transferred')
}

/**
 * Returns the receiver of a request's assets: of the owner's last transfer before the request in its transaction, or
 * else of the first one after it. The amount may differ because of fee-on-transfer tokens. Null without a transfer.
 */
async function receiverOf(
  rpc: Rpc,
  asset: Address,
  { owner, block, blockHash, txHash, logIndex }: DepositRequest,
): Promise<Address | null> {
  const filter = { address: asset, topics: [transferTopic, padHex(owner, { size: 32 })] }
  const at = { number: block, hash: blockHash }
  const logs = await rpc.askAt(at, (node) => readMatchingLogs(node, filter, at))
  const transfers = logs.filter((log) => log.txHash === txHash && log.topics.length === 3)
  const before = transfers.findLast((log) => log.logIndex < logIndex)
  const receiver = (before ?? transfers.find((log) => log.logIndex > logIndex))?.topics[2]
  return receiver === undefined ? null : getAddress(`0x${receiver.slice(26)}`)
}
