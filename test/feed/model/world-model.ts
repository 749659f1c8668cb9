import { getAddress } from 'viem'
import type { FactInput } from '../../../src/feed/fact/fact.ts'
import { plainText } from './rational.ts'
import { Bad, foldVault, type Kind, type VaultFold, type VaultHistory } from './vault-model.ts'

/** Outcome of a line; the key is null where the whole line is wrong. */
export type Outcome =
  { readonly status: 'applied' | 'skipped' } | { readonly status: 'rejected'; readonly key: string | null }

/** All facts of a feed by the rules of FACTS.md: stored as they are, and folded again for each query. */
export class WorldModel {
  /** Facts in canonical form, by identity. */
  readonly #known = new Map<string, string>()
  readonly #vaults = new Map<string, VaultHistory>()
  /** All publications by id, in the order of the first of each. */
  readonly strategies = new Map<string, Kind<'strategy'>[]>()
  readonly screens: Kind<'screen'>[] = []

  apply(fact: FactInput): Outcome {
    const [identity, key] = identityOf(fact)
    const form = formOf(fact)
    const known = this.#known.get(identity)
    if (known === form) return fact.kind === 'vault' ? this.#repeatVault(fact) : { status: 'skipped' }
    if (known !== undefined) return { status: 'rejected', key }
    try {
      this.#take(fact)
    } catch (error) {
      if (!(error instanceof Bad)) throw error
      return { status: 'rejected', key: error.key }
    }
    this.#known.set(identity, form)
    return { status: 'applied' }
  }

  /** Returns the newest publication of a strategy. */
  newest(id: string): Kind<'strategy'> | undefined {
    return newestOf(this.strategies.get(id) ?? [])
  }

  get screen(): Kind<'screen'> | undefined {
    return newestOf(this.screens)
  }

  /** Returns the addresses of all vaults, checksummed. */
  get addresses(): string[] {
    return [...this.#vaults.keys()].map((vault) => getAddress(vault))
  }

  historyOf(vault: string): VaultHistory | undefined {
    return this.#vaults.get(vault.toLowerCase())
  }

  /**
   * Returns a vault as its facts have left it; undefined where it isn't there.
   * @param at Unix seconds: only facts up to and in this second
   */
  vault(address: string, at = Infinity): VaultFold | undefined {
    const [opened, ...facts] = this.historyOf(address) ?? []
    if (opened === undefined || opened.ts > at) return undefined
    return foldVault([opened, ...facts.filter(({ ts }) => ts <= at)])
  }

  /** A repetition may add the chain of a vault, and does not change it. */
  #repeatVault({ vault, chainId }: Kind<'vault'>): Outcome {
    const history = this.historyOf(vault)
    if (history === undefined || chainId === undefined || history[0].chainId === chainId) return { status: 'skipped' }
    if (history[0].chainId !== undefined) return { status: 'rejected', key: 'vault' }
    const [opened, ...facts] = history
    this.#vaults.set(vault.toLowerCase(), [{ ...opened, chainId }, ...facts])
    return { status: 'applied' }
  }

  #take(fact: FactInput): void {
    if (fact.kind === 'strategy') {
      this.strategies.set(fact.id, [...(this.strategies.get(fact.id) ?? []), fact])
      return
    }
    if (fact.kind === 'screen') {
      const unknown = Object.keys(fact.strategies).find((id) => !this.strategies.has(id))
      if (unknown !== undefined) throw new Bad(`strategies.${unknown}`)
      this.screens.push(fact)
      return
    }
    const address = fact.vault.toLowerCase()
    if (fact.kind === 'vault') {
      if (!this.strategies.has(fact.strategy)) throw new Bad('strategy')
      this.#vaults.set(address, [fact])
      return
    }
    const history = this.#vaults.get(address)
    if (history === undefined) throw new Bad('vault')
    const [opened, ...before] = history
    const grown: VaultHistory = [opened, ...before, fact]
    foldVault(grown)
    this.#vaults.set(address, grown)
  }
}

function newestOf<Fact extends { readonly ts: number }>(facts: readonly Fact[]): Fact | undefined {
  return facts.reduce<Fact | undefined>(
    (best, fact) => (best === undefined || fact.ts > best.ts ? fact : best),
    undefined,
  )
}

/** Returns the identity of a fact, and the key that is wrong where the identity is known with other contents. */
function identityOf(fact: FactInput): [identity: string, key: string] {
  const vault = 'vault' in fact ? fact.vault.toLowerCase() : ''
  switch (fact.kind) {
    case 'strategy':
      return [`strategy ${fact.id} ${fact.ts}`, 'ts']
    case 'screen':
      return [`screen ${fact.ts}`, 'ts']
    case 'vault':
      return [`vault ${vault}`, 'vault']
    case 'owner':
    case 'mark':
      return [`${fact.kind} ${vault} ${fact.ts}`, 'ts']
    case 'event':
      return [`event ${vault} ${fact.txHash.toLowerCase()} ${fact.logIndex}`, 'logIndex']
  }
}

const hexKeys: readonly string[] = ['vault', 'owner', 'txHash']

/** Returns the canonical form of a fact's contents, without the chain of a vault. */
function formOf(value: unknown, key = ''): string {
  if (typeof value === 'string') return JSON.stringify(formOfText(value, key))
  if (Array.isArray(value)) return `[${value.map((each) => formOf(each, key)).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const keys = Object.keys(value).filter((name) => name !== 'chainId')
  const inner = keys.sort().map((name) => {
    const isPrice = key === 'prices'
    return `${JSON.stringify(name)}:${formOf((value as Record<string, unknown>)[name], isPrice ? 'price' : name)}`
  })
  return `{${inner.join()}}`
}

function formOfText(text: string, key: string): string {
  if (hexKeys.includes(key)) return text.toLowerCase()
  return isDecimal(key) ? plainText(text) : text
}

/** Tells whether the texts under a key are decimals. */
export function isDecimal(key: string): boolean {
  return key.endsWith('Usd') || ['price', 'amount', 'lower', 'upper', 'current'].includes(key)
}
