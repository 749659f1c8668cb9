import { type Address, type Hex, parseAbi, toEventSelector } from 'viem'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import { pairAmounts, type VaultAdapter, type VaultStatement } from './vault-adapter.ts'
import { commonTopics, decodeStandardLog, readCommonLog, vaultAbi } from './vault-events.ts'

const flowEvents = parseAbi([
  'event Deposit(address indexed user, uint256 shares, uint256 amount0, uint256 amount1, uint256 fee0, uint256 fee1)',
  'event Withdraw(address indexed user, uint256 shares, uint256 amount0, uint256 amount1)',
  'event ChargedFees(uint256 callFeeAmount, uint256 beefyFeeAmount, uint256 strategistFeeAmount)',
])
/** Event of earlier vaults, which had no swap fee for unbalanced deposits. */
const earlierEvents = parseAbi([
  'event Deposit(address indexed user, uint256 shares, uint256 amount0, uint256 amount1)',
])
const flowTopics: readonly Hex[] = flowEvents.map(toEventSelector)
const earlierTopics: readonly Hex[] = earlierEvents.map(toEventSelector)

const clmAbi = parseAbi([
  'function strategy() view returns (address)',
  'function wants() view returns (address token0, address token1)',
  'function balances() view returns (uint256 amount0, uint256 amount1)',
])
const strategyAbi = parseAbi([
  'function pool() view returns (address)',
  'function native() view returns (address)',
  'function lockedProfit() view returns (uint256 locked0, uint256 locked1)',
  'function fees0() view returns (uint256)',
  'function fees1() view returns (uint256)',
  'function positionMain() view returns (int24 lower, int24 upper)',
  'function positionAlt() view returns (int24 lower, int24 upper)',
])

/**
 * Beefy's concentrated liquidity vaults. The strategy contract of a vault never changes: it holds all funds, with
 * positions directly in a pool, and logs suspensions and fees.
 * @see Beefy, BeefyVaultConcLiq.sol; StrategyPassiveManagerUniswap.sol `balances`, `harvest`
 */
export const beefyClm: VaultAdapter = {
  name: 'Beefy CLM',
  topics: [...flowTopics, ...earlierTopics, ...commonTopics],
  mintsFees: false,
  async fits(state, vault) {
    const [strategy, wants, balances] = await Promise.all([
      state.read(contractCall(clmAbi, vault, 'strategy', [])),
      state.read(contractCall(clmAbi, vault, 'wants', [])),
      state.read(contractCall(clmAbi, vault, 'balances', [])),
    ])
    return strategy !== null && wants !== null && balances !== null
  },
  decodeLog(log) {
    const [first = '0x'] = log.topics
    if (earlierTopics.includes(first)) {
      const { user: owner, shares, amount0, amount1 } = decodeStandardLog(earlierEvents, log).args
      return { kind: 'deposited', amounts: [amount0, amount1], owner, shares }
    }
    if (!flowTopics.includes(first)) return readCommonLog(log)
    const { eventName, args } = decodeStandardLog(flowEvents, log)
    switch (eventName) {
      case 'Deposit':
        return { kind: 'deposited', amounts: [args.amount0, args.amount1], owner: args.user, shares: args.shares }
      case 'Withdraw':
        return { kind: 'withdrawn', amounts: [args.amount0, args.amount1], shares: args.shares }
      case 'ChargedFees': {
        const units = args.callFeeAmount + args.beefyFeeAmount + args.strategistFeeAmount
        return units === 0n ? null : { kind: 'earned', amounts: [units] }
      }
    }
  },
  async readTerms(state, vault) {
    const strategy = await readStrategy(state, vault)
    const [owner, assets, native] = await Promise.all([
      state.readRequired(contractCall(vaultAbi, vault, 'owner', [])),
      state.readRequired(contractCall(clmAbi, vault, 'wants', [])),
      state.readRequired(contractCall(strategyAbi, strategy, 'native', [])),
      state.readRequired(contractCall(vaultAbi, vault, 'totalSupply', [])),
    ])
    return { owner, assets, feeTokens: [native] }
  },
  readAssets: (state, vault) => state.readRequired(contractCall(clmAbi, vault, 'wants', [])),
  async readPlaces(state, vault) {
    const strategy = await readStrategy(state, vault)
    const pool = await state.readRequired(contractCall(strategyAbi, strategy, 'pool', []))
    return { accounts: [strategy], pools: [pool], emitters: [strategy] }
  },
  readStatement,
  async readFees(state, vault, [units = 0n]) {
    const strategy = await readStrategy(state, vault)
    return [{ token: await state.readRequired(contractCall(strategyAbi, strategy, 'native', [])), units }]
  },
}

function readStrategy(state: BlockState, vault: Address): Promise<Address> {
  return state.readRequired(contractCall(clmAbi, vault, 'strategy', []))
}

/**
 * Reads `balances`, which excludes harvested profit that is still locked, and claimed fees that are not harvested. Both
 * belong to the vault, except for the part of the fees that the harvest pays. There is no total to compare where a
 * strategy does not report both, or where `balances` is cut off at 0 because the fees exceed it.
 */
async function readStatement(state: BlockState, vault: Address): Promise<VaultStatement> {
  const [strategy, pair, balances] = await Promise.all([
    readStrategy(state, vault),
    state.readRequired(contractCall(clmAbi, vault, 'wants', [])),
    state.readRequired(contractCall(clmAbi, vault, 'balances', [])),
  ])
  const [pool, locked, fees0, fees1, main, alt] = await Promise.all([
    state.readRequired(contractCall(strategyAbi, strategy, 'pool', [])),
    state.read(contractCall(strategyAbi, strategy, 'lockedProfit', [])),
    state.read(contractCall(strategyAbi, strategy, 'fees0', [])),
    state.read(contractCall(strategyAbi, strategy, 'fees1', [])),
    state.read(contractCall(strategyAbi, strategy, 'positionMain', [])),
    state.read(contractCall(strategyAbi, strategy, 'positionAlt', [])),
  ])
  if (locked === null || fees0 === null || fees1 === null) return { debts: [], totals: null }
  const isCut = (balances[0] === 0n && fees0 > 0n) || (balances[1] === 0n && fees1 > 0n)
  if (isCut) return { debts: [], totals: null }
  const ranges = [main, alt].flatMap((range) => (range === null ? [] : [{ lower: range[0], upper: range[1] }]))
  const all = [balances[0] + locked[0] + fees0, balances[1] + locked[1] + fees1] as const
  return { debts: [], totals: { pool, amounts: pairAmounts(pair, all), creditedPart: (units) => units, ranges } }
}
