import { type Address, parseAbi } from 'viem'
import { Decimal, one } from '../../domain/decimal.ts'
import type { CheckedSource, FeedSource, PoolSource, PriceSource, SameSource } from '../price-config.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import { poolAbi, priceOf } from '../venues/pool.ts'
import { sqrtPriceAtTick } from '../venues/tick-math.ts'
import { createPriceRoute, type LazyPriceRoute, type RouteProblem } from './price-route.ts'

/** Greatest number of decimals that an int256 can have. */
const maxFeedDecimals = 77

/** Decimals of a price in a fact. */
const priceScale = 18

const feedAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
])
const observeAbi = parseAbi([
  'function observe(uint32[] secondsAgos) view returns (int56[] tickCumulatives, uint160[] secondsPerLiquidityCumulativeX128s)',
])

/** The end of a block: its state and its time in Unix seconds. */
export interface Moment {
  readonly state: BlockState
  readonly ts: number
}

/** The reason why a price is refused, without a full stop. */
export interface PriceRefusal {
  readonly refusal: string
}

/** The reason why there is no price, without a full stop. */
export interface PriceAbsence {
  readonly absence: string
}

/** A token's price in USD, or the reason why it is refused or missing. */
export type PriceReading = Decimal | PriceRefusal | PriceAbsence

/** Reads the price of one token. */
export interface PriceReader {
  read(moment: Moment): Promise<PriceReading>
  /** Returns the problem of the source's contracts at a block; null without one, or where a route is resolved. */
  find(state: BlockState): Promise<RouteProblem | null>
}

/** A token in which pools may quote others: a stable token, or one with a Chainlink feed. */
export interface QuoteToken {
  readonly decimals: number
  readonly source: 'stable' | FeedSource
}

/** A token with its own price source. */
export interface PricedToken {
  readonly address: Address
  readonly decimals: number
  readonly price: Exclude<PriceSource, SameSource>
}

/**
 * Creates the reader of a token's price.
 * @param quotes tokens at which a route of pools may end, by address
 */
export function createPriceReader(token: PricedToken, quotes: ReadonlyMap<Address, QuoteToken>): PriceReader {
  const { price } = token
  if (price === 'stable') return { read: () => Promise.resolve(one), find: () => Promise.resolve(null) }
  if (!('source' in price)) return readerOf(token, price, quotes)
  return createChecked(token, price, quotes)
}

/** Creates the reader of a price that a second source must confirm. */
function createChecked(
  token: PricedToken,
  { source, second, maxDifferencePercent }: CheckedSource,
  quotes: ReadonlyMap<Address, QuoteToken>,
): PriceReader {
  const [first, other] = [source, second].map((one) => readerOf(token, one, quotes)) as [PriceReader, PriceReader]
  return {
    async read(moment) {
      const [price, confirming] = await Promise.all([first.read(moment), other.read(moment)])
      if (!(price instanceof Decimal)) return price
      if (!(confirming instanceof Decimal)) {
        return 'refusal' in confirming ? confirming : { refusal: `its second source has none: ${confirming.absence}` }
      }
      if (confirming.isZero()) return { refusal: `${price.toFixed()} has no confirmation: its second source says 0` }
      const percent = price.minus(confirming).abs().div(confirming).times(100)
      if (percent.lessThanOrEqualTo(maxDifferencePercent)) return price
      const difference = `${percent.toDecimalPlaces(4).toFixed()} % from its second source, ${confirming.toFixed()}`
      return { refusal: `${price.toFixed()} differs by ${difference}, and ${maxDifferencePercent} % at most may` }
    },
    find: async (state) => (await first.find(state)) ?? (await other.find(state)),
  }
}

function readerOf(
  token: PricedToken,
  source: PoolSource | FeedSource,
  quotes: ReadonlyMap<Address, QuoteToken>,
): PriceReader {
  if ('feed' in source) return { read: (moment) => readFeed(moment, source), find: (state) => findFeed(state, source) }
  const decimals = new Map([...quotes].map(([address, quote]) => [address, quote.decimals]))
  const route = createPriceRoute({ address: token.address, pools: source.pools }, token.decimals, decimals)
  return { find: (state) => route.find(state), read: (moment) => readPools(moment, source, route, quotes) }
}

/**
 * Reads a Chainlink feed in USD.
 * @see Chainlink, AggregatorV3Interface, `latestRoundData`
 */
async function readFeed({ state, ts }: Moment, { feed, maxAgeSeconds }: FeedSource): Promise<PriceReading> {
  const [round, decimals] = await Promise.all([
    state.read(contractCall(feedAbi, feed, 'latestRoundData', [])),
    state.read(contractCall(feedAbi, feed, 'decimals', [])),
  ])
  if (round === null || decimals === null) return { absence: `the feed ${feed} doesn't answer` }
  if (decimals > maxFeedDecimals) return { refusal: `the feed ${feed} tells ${decimals} decimals` }
  const [, answer, , updatedAt] = round
  if (answer <= 0n) return { refusal: `the feed ${feed} answers ${answer}` }
  const age = ts - Number(updatedAt)
  if (age < 0) return { refusal: `the feed ${feed} is of a time after the block's` }
  if (age > maxAgeSeconds) {
    return { refusal: `the feed ${feed} is ${age} s old, and ${maxAgeSeconds} s at most may be` }
  }
  return new Decimal(`${answer}e-${decimals}`).toDecimalPlaces(priceScale)
}

async function findFeed(state: BlockState, { feed }: FeedSource): Promise<RouteProblem | null> {
  const decimals = await state.read(contractCall(feedAbi, feed, 'decimals', []))
  return decimals === null ? { reason: `names ${feed}, which is no feed`, isAbsent: true } : null
}

async function readPools(
  moment: Moment,
  { twapSeconds }: PoolSource,
  lazy: LazyPriceRoute,
  quotes: ReadonlyMap<Address, QuoteToken>,
): Promise<PriceReading> {
  const { state } = moment
  const route = await lazy.at(state)
  if (route === null) {
    const problem = await lazy.find(state)
    return { absence: problem === null ? 'a pool of its price is not there' : `its price ${problem.reason}` }
  }
  const quote = quotes.get(route.end)?.source ?? 'stable'
  const [inUsd, ...roots] = await Promise.all([
    quote === 'stable' ? one : readFeed(moment, quote),
    ...route.hops.map(({ pool }) =>
      twapSeconds === undefined ? readSpot(state, pool) : readMean(state, pool, twapSeconds),
    ),
  ])
  if (!(inUsd instanceof Decimal)) return inUsd
  let price = new Decimal(10).pow(route.shift).times(inUsd)
  for (const [index, { direct, pool: hop }] of route.hops.entries()) {
    const root = roots[index] ?? 0n
    if (typeof root === 'object') return root
    if (root === 0n) return { absence: `the pool ${hop} is not there, or not initialised` }
    price = direct ? price.times(priceOf(root)) : price.div(priceOf(root))
  }
  return price.toDecimalPlaces(priceScale)
}

/** Reads the square root price of a pool, times 2^96; 0 where the pool is missing or not initialised. */
async function readSpot(state: BlockState, pool: Address): Promise<bigint> {
  const slot0 = await state.read(contractCall(poolAbi, pool, 'slot0', []))
  return slot0?.[0] ?? 0n
}

/**
 * Reads the square root price at the mean tick of the last seconds, times 2^96.
 * @see Uniswap v3 Periphery, OracleLibrary.sol `consult`
 */
async function readMean(state: BlockState, pool: Address, seconds: number): Promise<bigint | PriceRefusal> {
  if ((await readSpot(state, pool)) === 0n) return 0n
  const observed = await state.read(contractCall(observeAbi, pool, 'observe', [[seconds, 0]]))
  const [from, to] = observed?.[0] ?? []
  if (from === undefined || to === undefined) {
    return { refusal: `the observations of the pool ${pool} don't reach ${seconds} s back` }
  }
  const difference = to - from
  const isRoundedUp = difference < 0n && difference % BigInt(seconds) !== 0n
  return sqrtPriceAtTick(Number(difference / BigInt(seconds)) - (isRoundedUp ? 1 : 0))
}
