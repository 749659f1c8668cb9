import type { Fact } from './fact.ts'

/** Identities of facts by kind, also used in messages. A fact with a known identity and equal contents is skipped. */
export const identity = {
  strategy: (id: string, ts: number | bigint) => `strategy ${id} at ${ts}`,
  screen: (ts: number) => `screen at ${ts}`,
  vault: (vault: string) => `vault ${vault}`,
  owner: (vault: string, ts: number) => `owner of ${vault} at ${ts}`,
  mark: (vault: string, ts: number) => `mark of ${vault} at ${ts}`,
  event: (vault: string, txHash: string, logIndex: number) => `event ${txHash} ${logIndex} of ${vault}`,
} as const

/** Returns the identity of a fact. */
export function identityOf(fact: Fact): string {
  switch (fact.kind) {
    case 'strategy':
      return identity.strategy(fact.id, fact.ts)
    case 'screen':
      return identity.screen(fact.ts)
    case 'vault':
      return identity.vault(fact.vault)
    case 'owner':
      return identity.owner(fact.vault, fact.ts)
    case 'mark':
      return identity.mark(fact.vault, fact.ts)
    case 'event':
      return identity.event(fact.vault, fact.txHash, fact.logIndex)
  }
}
