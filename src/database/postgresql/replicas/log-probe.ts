import pg from 'pg'
import { requireOwnSessions } from '../shared-sessions.ts'
import { setRequired } from '../session-settings.ts'

/** The newest commit that is visible on a server: its number and its `seq.nonce`; 0 and empty before the first. */
export interface LoggedHead {
  readonly seq: number
  readonly version: string
}

/** The database that an address leads to. */
export interface DatabaseIdentity {
  /** Identifier of the server's cluster, which it shares with its replicas alone. */
  readonly system: string
  readonly database: string
  /** Identifier of the database, which is the same on each replica. */
  readonly oid: string
}

/**
 * Returns why an address of READ_URLS can never lead to a replica of the primary's database, as words to follow its name. A
 * database of the same name may be an earlier one that was dropped and created again, and one of the same identifier may have been
 * renamed: a replica that lags has these, and will have the new one.
 * @returns null where it does, or may come to do so
 */
export function foreignReason(own: DatabaseIdentity, primary: DatabaseIdentity): string | null {
  if (own.system !== primary.system)
    return `is of another cluster: its system identifier is ${own.system}, and the primary's is ${primary.system}`
  const isOther = own.oid !== primary.oid && own.database !== primary.database
  return isOther ? `leads to another database: it is ${own.database}, and the primary's is ${primary.database}` : null
}

/** Position of a server in the write-ahead log: what a primary has written, or a standby has replayed. */
export interface LogPosition {
  readonly lsn: bigint
  /**
   * End of the newest record of a primary, written or not: with `synchronous_commit=off` a commit is visible before its
   * record is written. On a standby the same as `lsn`.
   */
  readonly insertLsn: bigint
  readonly isStandby: boolean
}

const positionOnly = `select pg_is_in_recovery() as "isStandby",
  (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end - '0/0')::text as lsn,
  (case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_insert_lsn() end - '0/0')::text as "insertLsn"`
const identity = `select system_identifier::text as system, datname::text as database, oid::text, pg_postmaster_start_time()::text as run
  from pg_control_system(), pg_database where datname = current_database()`
const head = `select coalesce(max(seq), 0)::float8 as seq, coalesce(max(version), '') as version from data_head`
const versionOf = 'select version from commit_log where seq = $1::bigint'

/** Timeout of a connection and of each answer: a server that takes longer counts as unavailable. */
const answerMilliseconds = 1_000

/** A separate connection to a server, on which its position is polled independently of reads. */
export class LogProbe {
  readonly #client: pg.Client
  #identity: DatabaseIdentity = { system: '', database: '', oid: '' }
  #run = ''

  private constructor(client: pg.Client) {
    this.#client = client
  }

  get identity(): DatabaseIdentity {
    return this.#identity
  }

  /** Identifier of the server's run: its start time. */
  get run(): string {
    return this.#run
  }

  /**
   * Connects to a server, and reads its identity.
   * @throws when it does not accept the connection, does not answer in time, or is behind a pooler whose connections share
   *   sessions; the connection is closed then
   */
  static async connect(url: string): Promise<LogProbe> {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: answerMilliseconds,
      query_timeout: answerMilliseconds,
      keepAlive: true,
    })
    client.on('error', () => undefined)
    const probe = new LogProbe(client)
    try {
      await client.connect()
      // A standby refuses statements at the level serializable, which may be the default.
      await client.query(setRequired)
      await requireOwnSessions(client, url)
      const { run, ...own } = await probe.#one<DatabaseIdentity & { readonly run: string }>(identity)
      probe.#identity = own
      probe.#run = run
      return probe
    } catch (error) {
      probe.close()
      throw error
    }
  }

  /** Registers a listener for the end of the connection, which {@link close} ends too. */
  onEnd(listener: () => void): void {
    this.#client.once('end', listener)
  }

  async position(): Promise<LogPosition> {
    return decoded(await this.#one<SentPosition>(positionOnly))
  }

  /** Reads the newest visible commit. */
  head(): Promise<LoggedHead> {
    return this.#one<LoggedHead>(head)
  }

  /**
   * Returns whether a commit is part of the server's history and visible.
   * @param known the newest commit of the server, where the caller knows it
   */
  async contains({ seq, version }: LoggedHead, known: LoggedHead): Promise<boolean> {
    if (seq === 0) return true
    if (known.seq <= seq) return known.version === version
    const { rows } = await this.#client.query<{ version: string }>(versionOf, [seq])
    return rows[0]?.version === version
  }

  /** Closes the connection immediately. */
  close(): void {
    this.#client.connection.stream.destroy()
  }

  async #one<Row extends pg.QueryResultRow>(text: string): Promise<Row> {
    const [row] = (await this.#client.query<Row>(text)).rows
    if (row === undefined) throw new Error('the server answered without a row')
    return row
  }
}

interface SentPosition {
  readonly lsn: string | null
  readonly insertLsn: string | null
  readonly isStandby: boolean
}

/** @throws where a standby has replayed nothing yet */
function decoded({ lsn, insertLsn, isStandby }: SentPosition): LogPosition {
  if (lsn === null || insertLsn === null) throw new Error('the standby has replayed nothing yet')
  return { lsn: BigInt(lsn), insertLsn: BigInt(insertLsn), isStandby }
}

/** Size of a page of the log: `wal_block_size`, unless PostgreSQL is built otherwise. */
const pageBytes = 8192n
/** Size of the header of the first page of a segment; other pages have a shorter one. */
const longHeaderBytes = 40n

/**
 * Returns the position of a standby that has replayed all records before a primary's insert position. Where the newest record
 * ends with its page, the insert position is after the header of the next page, which a standby reaches only with the next
 * record. A record that starts on the previous page must be replayed for either position.
 * @see XLogBytePosToRecPtr and XLogBytePosToEndRecPtr in src/backend/access/transam/xlog.c of PostgreSQL
 */
export function endOfRecord(insertLsn: bigint): bigint {
  const onPage = insertLsn % pageBytes
  return onPage <= longHeaderBytes ? insertLsn - onPage : insertLsn
}
