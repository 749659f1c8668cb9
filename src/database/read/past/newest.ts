/**
 * Returns the SQL of the newest row of a vault at or before the moment, the second parameter: one step in the index that its
 * table has for time.
 */
export const newestUpTo = (table: string, columns = '*'): string => `(
  select ${columns} from ${table} where vault_id = vault.id and ts <= $2::bigint order by ts desc limit 1)`
