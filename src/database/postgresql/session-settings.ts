import pg from 'pg'

/** Timeout for the settings of a session. */
const configureMilliseconds = 5_000

/** Settings of sessions, by name. */
export type SessionSettings = Readonly<Record<string, string | number>>

/**
 * Returns a hook for a pool that sets these in each session before it is used; a statement whose connection it fails for
 * fails. As parameters of the session's start, PgBouncer would refuse them.
 * @param whereSupported those that some servers refuse, which then keep their own
 */
export function configuresSessions(
  settings: SessionSettings,
  whereSupported: SessionSettings = {},
): (client: pg.ClientBase) => Promise<void> {
  return async (client) => {
    const { stream } = (client as unknown as Pick<pg.Client, 'connection'>).connection
    const late = setTimeout(() => stream.destroy(), configureMilliseconds)
    try {
      await client.query(setAll(settings))
      for (const [name, value] of Object.entries(whereSupported)) await setIfSupported(client, { [name]: value })
    } finally {
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
