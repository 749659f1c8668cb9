/**
 * Returns the SQL expression that encodes an equity point as downsampling input: time, net of flows, value, capital in and
 * capital out, separated by spaces.
 * @param netUsd SQL expression of net of flows
 */
export function encodedPoint(netUsd = 'value_usd + capital_out_usd - capital_in_usd'): string {
  const amounts = [netUsd, 'value_usd', 'capital_in_usd', 'capital_out_usd']
  return `concat_ws(' ', ts, ${amounts.map((amount) => `trim_scale(${amount})`).join(', ')})`
}
