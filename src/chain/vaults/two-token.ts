import { type Address, type Hex, parseAbi, toEventSelector } from 'viem'
import { ContractMismatch } from '../errors.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { TickRange } from '../venues/liquidity-math.ts'
import { pairAmounts, type VaultAdapter, type VaultStatement } from './vault-adapter.ts'
import { commonTopics, decodeStandardLog, readCommonLog, vaultAbi } from './vault-events.ts'

const ownEvents = parseAbi([
  'event Deposit(address indexed sender, address indexed to, uint256 shares, uint256 amount0, uint256 amount1)',
  'event Withdraw(address indexed sender, address indexed to, uint256 shares, uint256 amount0, uint256 amount1)',
  'event ZeroBurn(uint8 fee, uint256 fees0, uint256 fees1)',
  'event CollectFees(uint256 feesToVault0, uint256 feesToVault1, uint256 feesToProtocol0, uint256 feesToProtocol1)',
])
/** Events of ICHI; other vaults log the same `Rebalance`, but pay no fees on it. */
const earningEvents = parseAbi([
  'event Rebalance(int24 tick, uint256 totalAmount0, uint256 totalAmount1, uint256 feeAmount0, uint256 feeAmount1, uint256 totalSupply)',
  'event CollectFees(address indexed sender, uint256 feeAmount0, uint256 feeAmount1)',
])
const ownTopics: readonly Hex[] = ownEvents.map(toEventSelector)
const earningTopics: readonly Hex[] = earningEvents.map(toEventSelector)

const shareAbi = parseAbi([
  'function token0() view returns (address)',
  'function token1() view returns (address)',
  'function pool() view returns (address)',
  'function getTotalAmounts() view returns (uint256 total0, uint256 total1)',
  'function governance() view returns (address)',
  'function protocolFee() view returns (uint256)',
  'function accruedProtocolFees0() view returns (uint256)',
  'function accruedProtocolFees1() view returns (uint256)',
  'function ichiVaultFactory() view returns (address)',
  'function baseFee() view returns (uint256)',
  'function baseLower() view returns (int24)',
  'function baseUpper() view returns (int24)',
  'function limitLower() view returns (int24)',
  'function limitUpper() view returns (int24)',
])
/** Denominator of Charm's `protocolFee`. */
const charmWhole = 1_000_000n
/** Denominator of ICHI's `baseFee`. */
const ichiWhole = 10n ** 18n

/**
 * Vaults whose shares represent two tokens, and which hold positions directly in one pool: Gamma's Hypervisor, ICHI's
 * vaults, and Charm's Alpha Vaults.
 * @see Gamma, Hypervisor.sol; Charm, AlphaVault.sol; ICHI, ICHIVault.sol: `getTotalAmounts`
 */
export const twoTokenShares: VaultAdapter = {
  name: 'two-token shares',
  topics: [...ownTopics, ...earningTopics, ...commonTopics],
  mintsFees: false,
  async fits(state, vault) {
    const [totals, pool] = await Promise.all([
      state.read(contractCall(shareAbi, vault, 'getTotalAmounts', [])),
      state.read(contractCall(shareAbi, vault, 'pool', [])),
    ])
    return totals !== null && pool !== null
  },
  decodeLog(log) {
    const [first = '0x'] = log.topics
    if (earningTopics.includes(first)) {
      const { feeAmount0, feeAmount1 } = decodeStandardLog(earningEvents, log).args
      return feeAmount0 + feeAmount1 === 0n ? null : { kind: 'earned', amounts: [feeAmount0, feeAmount1] }
    }
    if (!ownTopics.includes(first)) return readCommonLog(log)
    const { eventName, args } = decodeStandardLog(ownEvents, log)
    switch (eventName) {
      case 'Deposit':
        return { kind: 'deposited', amounts: [args.amount0, args.amount1], owner: args.to, shares: args.shares }
      case 'Withdraw':
        return { kind: 'withdrawn', amounts: [args.amount0, args.amount1], shares: args.shares }
      case 'ZeroBurn':
        return charged(args.fee === 0 ? [0n, 0n] : [args.fees0 / BigInt(args.fee), args.fees1 / BigInt(args.fee)])
      case 'CollectFees':
        return charged([args.feesToProtocol0, args.feesToProtocol1])
    }
  },
  async readTerms(state, vault) {
    const [owner, governance, assets, supply] = await Promise.all([
      state.read(contractCall(vaultAbi, vault, 'owner', [])),
      state.read(contractCall(shareAbi, vault, 'governance', [])),
      readPair(state, vault),
      state.read(contractCall(vaultAbi, vault, 'totalSupply', [])),
    ])
    const found = owner ?? governance
    if (found !== null && supply !== null) return { owner: found, assets }
    const silent = supply === null ? 'totalSupply()' : 'owner() or governance()'
    throw new ContractMismatch(vault, state.block.number, `doesn't answer ${silent}`)
  },
  readAssets: readPair,
  async readPlaces(state, vault) {
    return { accounts: [vault], pools: [await state.readRequired(contractCall(shareAbi, vault, 'pool', []))] }
  },
  readStatement,
  async readFees(state, vault, [earned0 = 0n, earned1 = 0n]) {
    const factory = await state.read(contractCall(shareAbi, vault, 'ichiVaultFactory', []))
    if (factory === null) return null
    const part = await state.readRequired(contractCall(shareAbi, factory, 'baseFee', []))
    if (part === 0n) return null
    return pairAmounts(await readPair(state, vault), [(earned0 * part) / ichiWhole, (earned1 * part) / ichiWhole])
  },
}

function charged(amounts: readonly bigint[]) {
  return amounts.every((units) => units === 0n) ? null : ({ kind: 'charged', amounts } as const)
}

async function readPair(state: BlockState, vault: Address): Promise<readonly [Address, Address]> {
  return Promise.all([
    state.readRequired(contractCall(shareAbi, vault, 'token0', [])),
    state.readRequired(contractCall(shareAbi, vault, 'token1', [])),
  ])
}

/**
 * Reads `getTotalAmounts`, which includes balances, liquidity and credited amounts. Charm's total excludes the
 * protocol's part of credited amounts, and protocol fees in the balances.
 */
async function readStatement(state: BlockState, vault: Address): Promise<VaultStatement> {
  const [pair, pool, totals, protocolFee, accrued0, accrued1, ranges] = await Promise.all([
    readPair(state, vault),
    state.readRequired(contractCall(shareAbi, vault, 'pool', [])),
    state.readRequired(contractCall(shareAbi, vault, 'getTotalAmounts', [])),
    state.read(contractCall(shareAbi, vault, 'protocolFee', [])),
    state.read(contractCall(shareAbi, vault, 'accruedProtocolFees0', [])),
    state.read(contractCall(shareAbi, vault, 'accruedProtocolFees1', [])),
    readRanges(state, vault),
  ])
  const isCharm = accrued0 !== null && accrued1 !== null
  const creditedPart = (units: bigint): bigint =>
    isCharm ? (units * (charmWhole - (protocolFee ?? 0n))) / charmWhole : units
  return {
    debts: isCharm ? pairAmounts(pair, [accrued0, accrued1]) : [],
    totals: { pool, amounts: pairAmounts(pair, totals), creditedPart, ranges },
  }
}

/** Reads the ranges of the positions that a vault reports. */
async function readRanges(state: BlockState, vault: Address): Promise<TickRange[]> {
  const ranges = await Promise.all(
    (['base', 'limit'] as const).map(async (name) => {
      const [lower, upper] = await Promise.all([
        state.read(contractCall(shareAbi, vault, `${name}Lower`, [])),
        state.read(contractCall(shareAbi, vault, `${name}Upper`, [])),
      ])
      return lower === null || upper === null || lower === upper ? [] : [{ lower, upper }]
    }),
  )
  return ranges.flat()
}
