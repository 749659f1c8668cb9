import { type Address, zeroAddress } from 'viem'
import { Decimal } from '../../domain/decimal.ts'
import { priceBounds } from '../../feed/fact/fact.ts'
import { BadChainConfig, ContractMismatch, PriceRefused, PriceUnavailable } from '../errors.ts'
import type { ChainConfig } from '../config.ts'
import { feedOf, isSame } from '../price-config.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { RouteProblem } from './price-route.ts'
import { createPriceReader, type Moment, type PriceReader, type QuoteToken } from './price-sources.ts'
import { tokenAbi } from '../vaults/vault-events.ts'
import type { PositionTerms } from '../venues/venue.ts'

/** A token with its decimals. */
export interface Token {
  readonly address: Address
  readonly symbol: string
  readonly decimals: number
  readonly stable: boolean
  readonly price: PriceReader
}

/** Decimals of the chain's native coin. */
const coinDecimals = 18

/** Returns whether a token is the chain's native coin, which Uniswap v4 represents by the zero address. */
export function isCoin({ address }: Pick<Token, 'address'>): boolean {
  return address === zeroAddress
}

/** The configured tokens, by address. */
export type Tokens = ReadonlyMap<Address, Token>

/** Price of one whole token in USD, by symbol, rounded half-even to 18 decimals. */
export class TokenPrices extends Map<string, Decimal> {
  /** Reasons why prices are refused, by symbol. */
  readonly refusals = new Map<string, string>()
  /** Reasons why prices are missing, by symbol. */
  readonly absences = new Map<string, string>()

  constructor(readonly block: number) {
    super()
  }

  /** Returns a copy of these prices with a different price for one token. */
  with(symbol: string, price: Decimal): TokenPrices {
    const prices = new TokenPrices(this.block)
    for (const [other, reason] of this.refusals) if (other !== symbol) prices.refusals.set(other, reason)
    for (const [other, reason] of this.absences) prices.absences.set(other, reason)
    for (const [other, own] of this) prices.set(other, own)
    return prices.set(symbol, price)
  }

  /**
   * Returns a price.
   * @throws {PriceRefused} when the price is refused
   * @throws {PriceUnavailable} when the price is missing
   */
  require(symbol: string): Decimal {
    const price = this.get(symbol)
    if (price !== undefined) return price
    const refusal = this.refusals.get(symbol)
    if (refusal !== undefined) throw new PriceRefused(symbol, this.block, refusal)
    throw new PriceUnavailable(symbol, this.block, this.absences.get(symbol) ?? 'it is none of the tokens')
  }
}

/**
 * Reads the decimals of tokens, and checks their price routes.
 * @param newest state at the newest block
 * @param older returns earlier states, at which pools that do not answer now are tried; null for a chain that
 *   was read with the same tokens before: a pool that does not answer then has vanished
 * @param onAbsent called with the problem of each token that has no price yet because its pools or feed never answered
 * @throws {BadChainConfig} with every problem
 */
export async function readTokens(
  file: string,
  { tokens }: ChainConfig,
  newest: BlockState,
  older: (() => Promise<readonly BlockState[]>) | null,
  onAbsent: (problem: string) => void,
): Promise<Tokens> {
  const decimals = await Promise.all(
    tokens.map((token) =>
      isCoin(token)
        ? Promise.resolve(coinDecimals)
        : newest.read(contractCall(tokenAbi, token.address, 'decimals', [])),
    ),
  )
  const quotes = new Map(
    tokens.flatMap(({ address, price }, index): [Address, QuoteToken][] => {
      const source = price === 'stable' ? price : feedOf(price)
      return source === null ? [] : [[address, { decimals: decimals[index] ?? 0, source }]]
    }),
  )
  const units = new Map(tokens.map(({ address }, index) => [address, decimals[index] ?? 0]))
  const prices = tokens.map((token) => priceReaderOf(token, tokens, units, quotes))
  const routeProblems = await findProblems(prices, newest, older)
  const problems = tokens.flatMap((_, index) => {
    const problem = routeProblems[index] ?? null
    return [
      ...decimalsProblem(decimals[index] ?? null).map((text) => `tokens[${index}].address ${text}`),
      ...(problem === null || problem.isAbsent ? [] : [`tokens[${index}].price ${problem.reason}`]),
    ]
  })
  if (problems.length > 0) throw new BadChainConfig(file, problems)
  routeProblems.forEach((problem, index) => {
    if (problem !== null) onAbsent(`tokens[${index}].price ${problem.reason}`)
  })
  return new Map(
    tokens.map(({ address, symbol, price }, index) => {
      const reader = prices[index] as PriceReader
      return [address, { address, symbol, decimals: decimals[index] ?? 0, stable: price === 'stable', price: reader }]
    }),
  )
}

/** Creates the reader of a token's price, which may be the price of another token. */
function priceReaderOf(
  token: ChainConfig['tokens'][number],
  tokens: ChainConfig['tokens'],
  decimals: ReadonlyMap<Address, number>,
  quotes: ReadonlyMap<Address, QuoteToken>,
): PriceReader {
  const { price } = token
  if (!isSame(price)) return createPriceReader({ ...token, price, decimals: decimals.get(token.address) ?? 0 }, quotes)
  const other = tokens.find(({ address }) => address === price.sameAs)
  if (other !== undefined && !isSame(other.price)) return priceReaderOf(other, tokens, decimals, quotes)
  const reason = `names ${price.sameAs}, which is no token of this list with a price of its own`
  return {
    read: () => Promise.resolve({ absence: reason }),
    find: () => Promise.resolve({ reason, isAbsent: false }),
  }
}

/** Returns the problem of each price; null for a price without a problem. */
async function findProblems(
  prices: readonly PriceReader[],
  newest: BlockState,
  older: (() => Promise<readonly BlockState[]>) | null,
): Promise<(RouteProblem | null)[]> {
  const now = await Promise.all(prices.map((price) => price.find(newest)))
  if (older !== null && now.some((problem) => problem?.isAbsent === true)) {
    for (const state of await older()) await Promise.all(prices.map((price) => price.find(state)))
  }
  return Promise.all(prices.map((price) => price.find(newest)))
}

/**
 * Reads the prices of tokens at a block. Missing and refused prices are left out; a price that a fact cannot have, or that is 0
 * with the decimals of a fact, counts as refused.
 */
export async function readPrices(moment: Moment, tokens: Tokens): Promise<TokenPrices> {
  const prices = new TokenPrices(moment.state.block.number)
  const read = await Promise.all(
    [...tokens.values()].map(async ({ symbol, price }) => [symbol, await price.read(moment)] as const),
  )
  const { integerDigits } = priceBounds
  for (const [symbol, price] of read) {
    const isDecimal = price instanceof Decimal
    if (isDecimal && price.exceeds(integerDigits))
      prices.refusals.set(symbol, `it has more than ${integerDigits} digits`)
    else if (isDecimal && price.isZero()) prices.refusals.set(symbol, `it is 0 with ${priceBounds.decimals} decimals`)
    else if (isDecimal) prices.set(symbol, price)
    else if ('refusal' in price) prices.refusals.set(symbol, price.refusal)
    else prices.absences.set(symbol, price.absence)
  }
  return prices
}

/** Converts an amount in smallest units to whole tokens. */
export function amountIn(token: Pick<Token, 'decimals'>, units: bigint): Decimal {
  return new Decimal(`${units}e-${token.decimals}`)
}

function decimalsProblem(decimals: number | null): string[] {
  if (decimals === null) return ["is no token: it doesn't answer decimals()"]
  return decimals > 18 ? [`is of a token with ${decimals} decimals, and a fact's amounts have at most 18`] : []
}

/** Returns whether both tokens of a position are configured. Anyone can transfer other positions to a vault. */
export function isInTokens(tokens: Tokens, { token0, token1 }: PositionTerms): boolean {
  return tokens.has(token0) && tokens.has(token1)
}

/**
 * Returns a configured token.
 * @throws {ContractMismatch} when the address is not configured
 */
export function requireToken(tokens: Tokens, address: Address, holder: Address, block: number): Token {
  const token = tokens.get(address)
  if (token === undefined) throw new ContractMismatch(holder, block, `has the asset ${address}, none of the tokens,`)
  return token
}
