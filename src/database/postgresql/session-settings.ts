import pg from 'pg'
import { SessionNotGiven } from '../errors.ts'

/** Least time for the settings of a session, in milliseconds. */
const leastMilliseconds = 1_000
/** Part of the time for getting a connection after which one without a session is given up: others are tried meanwhile. */
const partOfConnecting = 1 / 10

/** Settings of sessions, by name. */
export type SessionSettings = Readonly<Record<string, string | number>>

/**
 * Settings that statements rely on, whatever those of the role or database are. Each statement of a transaction that writes sees
 * the commits for which it has waited; a standby refuses statements at the level serializable; and floats are sent with all digits.
 */
const required: SessionSettings = { default_transaction_isolation: `'read committed'`, extra_float_digits: 1 }

/** SQL that sets {@link required}. */
export const setRequired = setAll(required)

/**
 * Returns a hook for a pool that sets these in each session before it is used; a statement whose connection it fails for
 * fails. As parameters of the session's start, PgBouncer would refuse them. It accepts more connections than it has sessions,
 * and their first statement waits for one.
 * @param connectionTimeoutMillis of the pool
 * @param whereSupported those that some servers refuse, which then keep their own
 */
export function configuresSessions(
  connectionTimeoutMillis: number,
  settings: SessionSettings,
  whereSupported: SessionSettings = {},
): (client: pg.ClientBase) => Promise<void> {
  const milliseconds = Math.max(leastMilliseconds, connectionTimeoutMillis * partOfConnecting)
  return async (client) => {
    const { stream } = (client as unknown as Pick<pg.Client, 'connection'>).connection
    let isOver = false
    const giveUp = (): void => void (isOver || stream.destroy(new SessionNotGiven(milliseconds)))
    // After an iteration of the event loop that took long, the response may have arrived without having been read.
    const late = setTimeout(() => setImmediate(giveUp), milliseconds)
    try {
      await client.query(setAll({ ...required, ...settings }))
      for (const [name, value] of Object.entries(whereSupported)) await setIfSupported(client, { [name]: value })
    } finally {
      isOver = true
      clearTimeout(late)
    }
  }
}

async function setIfSupported(client: pg.ClientBase, setting: SessionSettings): Promise<void> {
  try {
    await client.query(setAll(setting))
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
  }
}

function setAll(settings: SessionSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `set ${name} = ${value}`)
    .join('; ')
}
