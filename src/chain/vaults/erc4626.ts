import { type Hex, parseAbi, toEventSelector } from 'viem'
import { ContractMismatch } from '../errors.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import { noStatement, type VaultAdapter } from './vault-adapter.ts'
import { commonTopics, decodeStandardLog, readCommonLog, vaultAbi } from './vault-events.ts'

const flowEvents = parseAbi([
  'event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)',
  'event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)',
])
const assetAbi = parseAbi(['function asset() view returns (address)', 'function totalAssets() view returns (uint256)'])
const flowTopics: readonly Hex[] = flowEvents.map(toEventSelector)

/**
 * ERC-4626 vaults with an owner by OpenZeppelin's Ownable.
 * @see ERC-4626, https://eips.ethereum.org/EIPS/eip-4626, asset and totalAssets, Deposit and Withdraw
 */
export const erc4626: VaultAdapter = {
  name: 'ERC-4626',
  topics: [...flowTopics, ...commonTopics],
  mintsFees: true,
  fits: async (state, vault) => (await state.read(contractCall(assetAbi, vault, 'asset', []))) !== null,
  decodeLog(log) {
    if (!flowTopics.includes(log.topics[0] ?? '0x')) return readCommonLog(log)
    const { eventName, args } = decodeStandardLog(flowEvents, log)
    const { assets, owner, shares } = args
    return eventName === 'Deposit'
      ? { kind: 'deposited', amounts: [assets], owner, shares }
      : { kind: 'withdrawn', amounts: [assets], shares }
  },
  async readTerms(state, vault) {
    const [owner, asset, ...totals] = await Promise.all([
      state.readRequired(contractCall(vaultAbi, vault, 'owner', [])),
      state.readRequired(contractCall(assetAbi, vault, 'asset', [])),
      state.read(contractCall(assetAbi, vault, 'totalAssets', [])),
      state.read(contractCall(vaultAbi, vault, 'totalSupply', [])),
    ])
    const silent = totals.indexOf(null)
    if (silent === -1) return { owner, assets: [asset] }
    const name = ['totalAssets', 'totalSupply'][silent]
    const problem = `has an asset and doesn't answer ${name}(), so it isn't ERC-4626,`
    throw new ContractMismatch(vault, state.block.number, problem)
  },
  readAssets: async (state, vault) => [await state.readRequired(contractCall(assetAbi, vault, 'asset', []))],
  readPlaces: (_, vault) => Promise.resolve({ accounts: [vault], pools: [] }),
  readStatement: () => Promise.resolve(noStatement),
  readFees: () => Promise.resolve(null),
}
