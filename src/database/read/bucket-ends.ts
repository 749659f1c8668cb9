/** SQL that makes a candidate of an equity point: time, net of flows, value, capital in and out, with spaces between. */
export const candidate =
  "concat_ws(' ', ts, trim_scale(net_usd), trim_scale(value_usd), trim_scale(capital_in_usd), trim_scale(capital_out_usd))"

/** SQL that gives the points that are a bucket's ends, as if they came from `equity_point`. */
export const ends = `(values (least_ts, least_value_usd + least_capital_out_usd - least_capital_in_usd,
    least_value_usd, least_capital_in_usd, least_capital_out_usd),
  (greatest_ts, greatest_value_usd + greatest_capital_out_usd - greatest_capital_in_usd,
    greatest_value_usd, greatest_capital_in_usd, greatest_capital_out_usd)
  ) as point(ts, net_usd, value_usd, capital_in_usd, capital_out_usd)`
