import type { FactInput } from '../../src/feed/fact/fact.ts'

/** State of a vault in an answer, over REST as in GraphQL. */
export interface VaultResponse {
  readonly updatedAt: number
  readonly valueUsd: number
  readonly capitalInUsd: number
  readonly capitalOutUsd: number
  readonly netUsd: number
  readonly strategyDeltaUsd: number
  readonly marketDeltaUsd: number
}

export type PointResponse = Pick<VaultResponse, 'valueUsd' | 'capitalInUsd' | 'capitalOutUsd'> & { readonly ts: number }

export interface LedgerRowResponse {
  readonly txHash: string
  readonly logIndex: number
  readonly block: number
  readonly ts: number
  readonly type: string
  readonly amountUsd: number | null
}

/** How far the states go that one reader was told of each vault: a later answer is of the same state or a later one. */
export type SeenStates = Map<string, number>

interface State {
  ts: number
  value: number
  capitalIn: number
  capitalOut: number
}

interface VaultHistory {
  readonly states: string[]
  readonly points: Set<string>
  readonly rows: Map<string, string>
  current: State
}

/** States of each vault after each fact of a feed: every correct answer shows one of them. */
export class FeedHistory {
  readonly #histories = new Map<string, VaultHistory>()

  constructor(facts: readonly FactInput[]) {
    for (const fact of facts) if ('vault' in fact) this.#add(fact)
  }

  get vaults(): string[] {
    return [...this.#histories.keys()]
  }

  /** Errors in the state of a vault that an answer shows. */
  vaultViolations(address: string, response: VaultResponse, seen: SeenStates): string[] {
    const key = address.toLowerCase()
    const states = this.#histories.get(key)?.states ?? []
    const { valueUsd, capitalInUsd, capitalOutUsd, netUsd, strategyDeltaUsd, marketDeltaUsd, updatedAt } = response
    const [value, capitalIn, capitalOut] = [valueUsd, capitalInUsd, capitalOutUsd].map(toMicroUsd) as [
      number,
      number,
      number,
    ]
    const state = stateKey({ ts: updatedAt, value, capitalIn, capitalOut })
    const at = states.lastIndexOf(state)
    const before = seen.get(key) ?? -1
    seen.set(key, Math.max(before, states.indexOf(state)))
    return [
      ...(at === -1 ? [`${address} never was ${JSON.stringify(response)}`] : []),
      ...(at !== -1 && at < before ? [`${address} went back to what it was at ${updatedAt}`] : []),
      ...(toMicroUsd(netUsd) === value + capitalOut - capitalIn ? [] : [`${address} has netUsd ${netUsd}`]),
      ...(toMicroUsd(strategyDeltaUsd) + toMicroUsd(marketDeltaUsd) === toMicroUsd(netUsd)
        ? []
        : [`${address} gained otherwise`]),
    ]
  }

  /** Errors in the points of a series that an answer shows, oldest first. */
  pointViolations(address: string, response: readonly PointResponse[]): string[] {
    const points = this.#histories.get(address.toLowerCase())?.points
    return response.flatMap((point, index) => {
      const { ts, valueUsd, capitalInUsd, capitalOutUsd } = point
      const [value, capitalIn, capitalOut] = [valueUsd, capitalInUsd, capitalOutUsd].map(toMicroUsd) as [
        number,
        number,
        number,
      ]
      const isRecorded = points?.has(stateKey({ ts, value, capitalIn, capitalOut })) === true
      const isLater = index === 0 || ts > (response[index - 1]?.ts ?? ts)
      return isRecorded && isLater ? [] : [`${address} has no point ${JSON.stringify(point)} there`]
    })
  }

  /** Errors in the rows of a ledger that an answer shows, newest first. */
  rowViolations(address: string, response: readonly LedgerRowResponse[]): string[] {
    const rows = this.#histories.get(address.toLowerCase())?.rows
    return response.flatMap((row, index) => {
      const previous = response[index - 1]
      const isOlder =
        previous === undefined ||
        row.block < previous.block ||
        (row.block === previous.block && row.logIndex < previous.logIndex)
      const isKnown = rows?.get(`${row.txHash} ${row.logIndex}`) === rowContent(row.type.toLowerCase(), row)
      return isKnown && isOlder ? [] : [`${address} has no row ${JSON.stringify(row)} there`]
    })
  }

  /** Whether a vault is told as the feed leaves it. */
  isFinalState(address: string, response: VaultResponse): boolean {
    return (
      this.vaultViolations(address, response, new Map([[address.toLowerCase(), this.#finalIndex(address)]])).length ===
      0
    )
  }

  #finalIndex(address: string): number {
    return (this.#histories.get(address.toLowerCase())?.states.length ?? 0) - 1
  }

  #add(fact: Extract<FactInput, { vault: string }>): void {
    const address = fact.vault.toLowerCase()
    const history: VaultHistory = this.#histories.get(address) ?? {
      states: [],
      points: new Set(),
      rows: new Map(),
      current: initialState,
    }
    this.#histories.set(address, history)
    history.current = { ...history.current, ...applyFact(history.current, fact), ts: fact.ts }
    history.states.push(stateKey(history.current))
    if (fact.kind === 'mark' || (fact.kind === 'event' && 'valueBeforeUsd' in fact))
      history.points.add(stateKey(history.current))
    if (fact.kind !== 'event') return
    const amountUsd = 'amountUsd' in fact && fact.amountUsd !== undefined ? Number(fact.amountUsd) : null
    history.rows.set(`${fact.txHash.toLowerCase()} ${fact.logIndex}`, rowContent(fact.type, { ...fact, amountUsd }))
  }
}

const initialState: State = { ts: 0, value: 0, capitalIn: 0, capitalOut: 0 }

/** Value and capital of a vault after a fact. */
function applyFact(current: State, fact: Extract<FactInput, { vault: string }>): Partial<State> {
  if (fact.kind === 'mark') return { value: toMicroUsd(fact.valueUsd) }
  if (fact.kind !== 'event' || !('valueBeforeUsd' in fact)) return {}
  const [before, amount] = [toMicroUsd(fact.valueBeforeUsd), toMicroUsd(fact.amountUsd)]
  if (fact.type === 'deposit') return { value: before + amount, capitalIn: current.capitalIn + amount }
  return { value: before - amount, capitalOut: current.capitalOut + amount }
}

function stateKey({ ts, value, capitalIn, capitalOut }: State): string {
  return [ts, value, capitalIn, capitalOut].join(' ')
}

function rowContent(
  type: string,
  { block, ts, amountUsd }: Pick<LedgerRowResponse, 'block' | 'ts' | 'amountUsd'>,
): string {
  return [type, block, ts, amountUsd === null ? null : toMicroUsd(amountUsd)].join(' ')
}

/** Micro-dollars of an amount that is small enough for a float. */
function toMicroUsd(usd: number | string): number {
  return Math.round(Number(usd) * 1e6)
}
