/** Seconds in an hour. */
export const hour = 3_600
/** Seconds in a day. */
export const day = 24 * hour

/** Returns the price of WETH in USD at a time in Unix seconds. */
export type DemoMarket = (ts: number) => number

/** Creates a random walk with hourly steps from a fixed seed, so that the same interval yields the same market. */
export function demoMarket(from: number, to: number): DemoMarket {
  const random = generator(20_260_101)
  const prices = [2_400]
  for (let ts = from; ts < to; ts += hour) {
    const step = (random() + random() + random() - 1.5) * 0.011
    prices.push((prices.at(-1) as number) * (1 + step + 0.00025))
  }
  return (ts) => prices[Math.min(prices.length - 1, Math.max(0, Math.floor((ts - from) / hour)))] as number
}

/**
 * Creates a Mulberry32 generator of numbers in [0, 1): deterministic on every machine.
 * @see https://github.com/cprosche/mulberry32
 */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
