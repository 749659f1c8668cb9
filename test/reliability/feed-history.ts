import type { FactInput } from '../../src/feed/fact/fact.ts'

/** Current state of a vault in a response of REST or GraphQL. */
export interface VaultResponse {
  readonly updatedAt: number
  readonly valueUsd: number
  readonly capitalInUsd: number
  readonly capitalOutUsd: number
  readonly netUsd: number
  readonly strategyDeltaUsd: number
  readonly marketDeltaUsd: number
}

/** A point of an equity series in a response. */
export type PointResponse = Pick<VaultResponse, 'valueUsd' | 'capitalInUsd' | 'capitalOutUsd'> & { readonly ts: number }

/** A ledger row in a response. */
export interface LedgerRowResponse {
  readonly txHash: string
  readonly logIndex: number
  readonly block: number
  readonly ts: number
  readonly type: string
  readonly amountUsd: number | null
}

/** Index of the newest state of each vault that a reader has received; later responses must not be older. */
export type SeenStates = Map<string, number>

/** Value and capital of a vault in micro-dollars, at a time. */
interface State {
  ts: number
  value: number
  capitalIn: number
  capitalOut: number
}

/** Keys of all states and points of a vault in their order, and its ledger rows by transaction hash and log index. */
interface VaultHistory {
  readonly states: string[]
  readonly points: Set<string>
  readonly rows: Map<string, string>
  current: State
}

/** States, points and ledger rows of each vault after each fact of a feed, with which every response is compared. */
export class FeedHistory {
  readonly #histories = new Map<string, VaultHistory>()

  constructor(facts: readonly FactInput[]) {
    for (const fact of facts) if ('vault' in fact) this.#add(fact)
  }

  get vaults(): string[] {
    return [...this.#histories.keys()]
  }

  /**
   * Returns the errors of a vault's state in a response: unknown, older than before, or inconsistent.
   * @param seen is updated
   */
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
      ...(at === -1 ? [`${address} never had the state ${JSON.stringify(response)}`] : []),
      ...(at !== -1 && at < before ? [`${address} went back to its state of ${updatedAt}`] : []),
      ...(toMicroUsd(netUsd) === value + capitalOut - capitalIn ? [] : [`${address} has netUsd ${netUsd}`]),
      ...(toMicroUsd(strategyDeltaUsd) + toMicroUsd(marketDeltaUsd) === toMicroUsd(netUsd)
        ? []
        : [`${address} has deltas that do not sum to netUsd`]),
    ]
  }

  /** Returns the errors of a series in a response: points that are unknown or not in ascending order. */
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
      return isRecorded && isLater ? [] : [`${address} has an unknown or misplaced point ${JSON.stringify(point)}`]
    })
  }

  /** Returns the errors of a ledger in a response: rows that are unknown or not in descending order. */
  rowViolations(address: string, response: readonly LedgerRowResponse[]): string[] {
    const rows = this.#histories.get(address.toLowerCase())?.rows
    return response.flatMap((row, index) => {
      const previous = response[index - 1]
      const isOlder =
        previous === undefined ||
        row.block < previous.block ||
        (row.block === previous.block && row.logIndex < previous.logIndex)
      const isKnown = rows?.get(`${row.txHash} ${row.logIndex}`) === rowContent(row.type.toLowerCase(), row)
      return isKnown && isOlder ? [] : [`${address} has an unknown or misplaced row ${JSON.stringify(row)}`]
    })
  }

  /** Tells whether a response shows the state after the last fact. */
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

/** Returns the value and capital that a fact changes. */
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

/** Converts an amount to micro-dollars; exact for amounts small enough for a double. */
export function toMicroUsd(usd: number | string): number {
  return Math.round(Number(usd) * 1e6)
}
