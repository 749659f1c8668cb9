import type { Fact } from '../fact/fact.ts'
import { parseFact } from '../fact/parse.ts'
import type { Line } from '../reading/lines.ts'

/**
 * The subjects of a line, each of which a single writer must apply: keys of vaults, of owners who receive one,
 * {@link unnamedOwner}, and `universe` for screens; empty for a bad line, null for one that all others depend on.
 */
export type Subjects = readonly string[] | null

/** Subject of a line that takes a vault from its previous owner, which the line does not name. */
export const unnamedOwner = 'unnamed owner'

/**
 * Returns the subjects of a line. Marks and events, nearly all lines of a feed, are not parsed: a text with exactly one
 * `"kind"`, one `"vault"` and no escapes is either a fact of that vault or a bad line.
 */
export function subjectsOf(line: Line): Subjects {
  const address = line.fact === undefined ? vaultOfText(line.bytes.toString('latin1')) : null
  if (address !== null) return [address]
  const parsed = line.fact === undefined ? parseFact(line.bytes) : null
  if (parsed === null) return null
  return parsed.ok ? subjectsOfFact(parsed.fact) : []
}

function subjectsOfFact(fact: Fact): Subjects {
  switch (fact.kind) {
    case 'strategy':
      return null
    case 'screen':
      return ['universe']
    // Vaults of one owner are counted in the order of the feed.
    case 'vault':
      return [fact.vault.toLowerCase(), `owner ${fact.owner}`]
    case 'owner':
      return [fact.vault.toLowerCase(), `owner ${fact.owner}`, unnamedOwner]
    case 'mark':
    case 'event':
      return [fact.vault.toLowerCase()]
  }
}

const markOrEvent = /"kind"\s*:\s*"(?:mark|event)"/
const vaultKey = /"vault"\s*:\s*"(0x[0-9a-f]{40})"/i

function vaultOfText(text: string): string | null {
  if (text.includes('\\') || !isOnce(text, '"vault"') || !isOnce(text, '"kind"') || !markOrEvent.test(text)) return null
  return vaultKey.exec(text)?.[1]?.toLowerCase() ?? null
}

function isOnce(text: string, token: string): boolean {
  const at = text.indexOf(token)
  return at !== -1 && !text.includes(token, at + token.length)
}
