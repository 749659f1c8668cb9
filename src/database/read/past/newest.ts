/**
 * A vault and a time, as the key of a read: the time is a part of the key, so that one statement serves requests for different
 * times.
 * @param time Unix seconds
 */
export const keyAt = (address: string, time: number): string => `${address}@${time}`

/** SQL of the vaults and times in a read's first value. */
export const namedMoments = `(select key, split_part(key, '@', 1) as vault, split_part(key, '@', 2)::bigint as at
    from unnest((select $1::text[])) as keys(key)) as list`

/** Returns the SQL of the newest row of a vault at or before its time: one lookup in the index by vault and time. */
export const newestUpTo = (table: string, columns = '*'): string => `(
  select ${columns} from ${table} where vault_id = vault.id and ts <= list.at order by ts desc limit 1)`
