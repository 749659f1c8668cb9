import type { Origin, Read, Statement, Transaction, Value } from './database.ts'
import type { Source } from './watcher.ts'

export const changesChannel = 'vault_gateway_changes'

/** A notification has less than 8,000 bytes. */
const sourcesAtOnce = 150

/** What a read's rows are made from. */
export function sourcesOf({ from }: Read, [named]: readonly Value[]): readonly Source[] {
  return from === 'named vaults' ? (named as readonly string[]) : [from]
}

/** The sources that a batch of facts changes. */
export function changedSources(
  vaults: readonly string[],
  others: Readonly<Record<Exclude<Origin, 'named vaults' | 'all vaults'>, boolean>>,
): Source[] {
  const named = Object.entries(others).flatMap(([name, isChanged]) => (isChanged ? [name] : []))
  return [...vaults, ...(vaults.length === 0 ? [] : ['all vaults']), ...named]
}

const notify: Statement = { name: 'notify', text: 'select pg_notify($1, $2)::text', hasOnePlan: true }

/** Tells all who watch what the transaction changes, when it is committed. */
export function announceChanges(transaction: Transaction, sources: readonly Source[]): void {
  for (let from = 0; from < sources.length; from += sourcesAtOnce) {
    transaction.send(notify, [changesChannel, JSON.stringify(sources.slice(from, from + sourcesAtOnce))])
  }
}

/** @param payload of a notification */
export function readChanges(payload: string): Source[] {
  return JSON.parse(payload) as Source[]
}
