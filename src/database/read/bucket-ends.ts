/**
 * SQL expression that encodes an equity point as downsampling input: time, net of flows, value, capital in and capital
 * out, separated by spaces.
 */
export const encodedPoint =
  "concat_ws(' ', ts, trim_scale(net_usd), trim_scale(value_usd), trim_scale(capital_in_usd), trim_scale(capital_out_usd))"

/**
 * SQL expression that returns the smallest and largest point of a bucket as rows with the columns of `equity_point`.
 */
export const bucketEnds = `(values (least_ts, least_value_usd + least_capital_out_usd - least_capital_in_usd,
    least_value_usd, least_capital_in_usd, least_capital_out_usd),
  (greatest_ts, greatest_value_usd + greatest_capital_out_usd - greatest_capital_in_usd,
    greatest_value_usd, greatest_capital_in_usd, greatest_capital_out_usd)
  ) as point(ts, net_usd, value_usd, capital_in_usd, capital_out_usd)`
