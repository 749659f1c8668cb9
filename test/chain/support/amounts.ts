/** An amount of the test's USDC in its smallest units: it has 6 decimals. */
export const usdc = (amount: number): bigint => BigInt(Math.round(amount * 1e6))

/** An amount of the test's WETH in its smallest units: it has 18 decimals, of which six can be given. */
export const weth = (amount: number): bigint => usdc(amount) * 10n ** 12n
