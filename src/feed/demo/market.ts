export const hour = 3_600
export const day = 24 * hour

/** The price of WETH in USD at a time. */
export type DemoMarket = (ts: number) => number

/** A random walk by the hour from a fixed seed, so that the same span gives the same market. */
export function demoMarket(from: number, to: number): DemoMarket {
  const random = generator(20_260_101)
  const prices = [2_400]
  for (let ts = from; ts < to; ts += hour) {
    const step = (random() + random() + random() - 1.5) * 0.011
    prices.push((prices.at(-1) as number) * (1 + step + 0.00025))
  }
  return (ts) => prices[Math.min(prices.length - 1, Math.max(0, Math.floor((ts - from) / hour)))] as number
}

/** Mulberry32: the same numbers on every machine. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
