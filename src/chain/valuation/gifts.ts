import type { Address } from 'viem'
import { PriceUnavailable } from '../errors.ts'
import type { VaultHoldings } from '../positions/holding.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Acquisitions } from './acquisitions.ts'
import { type ValuedVault, valueVault, type VaultMarket, type VaultValuation } from './valuation.ts'

/** Options of {@link valueWithoutGifts}. */
export interface GiftOptions {
  readonly acquisitions: Acquisitions
  /** Called for each token that counts as nothing, with the reason why it has no price. */
  readonly onGift: (missing: PriceUnavailable, vault: Address) => void
}

/**
 * Values a vault. A token with a missing or refused price counts as nothing where the vault has not acquired it:
 * otherwise anyone could stop a vault by sending it such a token.
 * @throws {PriceUnavailable} when a token that the vault acquired has no price; see {@link valueVault} for other errors
 */
export async function valueWithoutGifts(
  state: BlockState,
  market: VaultMarket,
  valued: ValuedVault,
  held: VaultHoldings,
  { acquisitions, onGift }: GiftOptions,
): Promise<VaultValuation> {
  const gifts = new Set<Address>()
  for (;;) {
    try {
      return await valueVault(state, { ...market, gifts }, valued, held)
    } catch (error) {
      const token = error instanceof PriceUnavailable ? addressOf(market, error.symbol) : undefined
      if (!(error instanceof PriceUnavailable) || token === undefined || gifts.has(token)) throw error
      if (await acquisitions.include(state, valued.vault, token, held)) throw error
      gifts.add(token)
      onGift(error, valued.vault)
    }
  }
}

function addressOf({ tokens }: VaultMarket, symbol: string): Address | undefined {
  return [...tokens.values()].find((token) => token.symbol === symbol)?.address
}
