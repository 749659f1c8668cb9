import { namedParameters } from '../expressions.ts'

const { sql, values } = namedParameters([
  ...['vaults', 'since', 'until', 'types'],
  ...['block', 'logIndex', 'txHash', 'limit'],
] as const)

/** The values of a page of ledgers, each in a subquery, so that the plan does not depend on them. */
export const requested = {
  since: `(select ${sql.since}::bigint)`,
  until: `(select ${sql.until}::bigint)`,
  types: `(select ${sql.types}::text[])`,
  block: `(select ${sql.block}::bigint)`,
  logIndex: `(select ${sql.logIndex}::integer)`,
  txHash: `(select ${sql.txHash}::text)`,
  limit: `(select ${sql.limit}::integer)`,
}

/** Returns the values of a page of ledgers in the order of their parameters. */
export const pageValues = values
