import pg from 'pg'

/** Number of partitions of a table. */
export const partitions = 8

/**
 * Replaces each table that has a column vault_id by one with the same definition and rows, partitioned by the hash of it.
 * @param url of a database that no session has open
 * @returns the names of the tables
 */
export async function partitionByVault(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; keys: string[] | null }>(
      `select relname as name,
        (select array_agg(pg_get_constraintdef(oid)) from pg_constraint where conrelid = c.oid and contype = 'f') as keys
       from pg_class c join pg_attribute a on attrelid = c.oid and attname = 'vault_id'
       where relkind = 'r' and relnamespace = 'public'::regnamespace`,
    )
    for (const { name, keys } of rows) await client.query(partitioning(name, keys ?? []))
    // So that the plans of small tables are those of large ones.
    for (const method of ['seqscan', 'hashjoin', 'mergejoin']) {
      await client.query(`alter database ${new URL(url).pathname.slice(1)} set enable_${method} = off`)
    }
    return rows.map(({ name }) => name)
  } finally {
    await client.end()
  }
}

/**
 * Returns the statements that partition a table.
 * @param keys definitions of its foreign keys, which LIKE does not copy
 */
function partitioning(name: string, keys: readonly string[]): string {
  const numbers = Array.from({ length: partitions }, (_, number) => number)
  return [
    `alter table ${name} rename to ${name}_whole`,
    `create table ${name} (like ${name}_whole including all) partition by hash (vault_id)`,
    ...numbers.map(
      (number) =>
        `create table ${partitionOf(name, number)} partition of ${name}
           for values with (modulus ${partitions}, remainder ${number})`,
    ),
    ...keys.map((key) => `alter table ${name} add ${key}`),
    `insert into ${name} select * from ${name}_whole`,
    `drop table ${name}_whole`,
  ].join(';\n')
}

function partitionOf(name: string, number: number): string {
  return `${name}_in_${number}`
}

/** Returns the table of which a relation is a partition; null if it is not a partition. */
export function tableOfPartition(relation: string): string | null {
  return /^(.*)_in_\d$/.exec(relation)?.[1] ?? null
}
