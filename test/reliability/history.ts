import type { FactInput } from '../../src/feed/fact/fact.ts'

/** State of a vault in an answer, over REST as in GraphQL. */
export interface ToldVault {
  readonly updatedAt: number
  readonly valueUsd: number
  readonly capitalInUsd: number
  readonly capitalOutUsd: number
  readonly netUsd: number
  readonly strategyDeltaUsd: number
  readonly marketDeltaUsd: number
}

export type ToldPoint = Pick<ToldVault, 'valueUsd' | 'capitalInUsd' | 'capitalOutUsd'> & { readonly ts: number }

export interface ToldRow {
  readonly txHash: string
  readonly logIndex: number
  readonly block: number
  readonly ts: number
  readonly type: string
  readonly amountUsd: number | null
}

/** How far the states go that one reader was told of each vault: a later answer is of the same state or a later one. */
export type Seen = Map<string, number>

interface State {
  ts: number
  value: number
  capitalIn: number
  capitalOut: number
}

interface Course {
  readonly states: string[]
  readonly points: Set<string>
  readonly rows: Map<string, string>
  now: State
}

/** States of each vault after each fact of a feed: every correct answer shows one of them. */
export class History {
  readonly #courses = new Map<string, Course>()

  constructor(facts: readonly FactInput[]) {
    for (const fact of facts) if ('vault' in fact) this.#add(fact)
  }

  get vaults(): string[] {
    return [...this.#courses.keys()]
  }

  /** Errors in the state of a vault that an answer shows. */
  flawsOfVault(address: string, told: ToldVault, seen: Seen): string[] {
    const key = address.toLowerCase()
    const states = this.#courses.get(key)?.states ?? []
    const { valueUsd, capitalInUsd, capitalOutUsd, netUsd, strategyDeltaUsd, marketDeltaUsd, updatedAt } = told
    const [value, capitalIn, capitalOut] = [valueUsd, capitalInUsd, capitalOutUsd].map(micro) as [
      number,
      number,
      number,
    ]
    const state = textOf({ ts: updatedAt, value, capitalIn, capitalOut })
    const at = states.lastIndexOf(state)
    const before = seen.get(key) ?? -1
    seen.set(key, Math.max(before, states.indexOf(state)))
    return [
      ...(at === -1 ? [`${address} never was ${JSON.stringify(told)}`] : []),
      ...(at !== -1 && at < before ? [`${address} went back to what it was at ${updatedAt}`] : []),
      ...(micro(netUsd) === value + capitalOut - capitalIn ? [] : [`${address} has netUsd ${netUsd}`]),
      ...(micro(strategyDeltaUsd) + micro(marketDeltaUsd) === micro(netUsd) ? [] : [`${address} gained otherwise`]),
    ]
  }

  /** Errors in the points of a series that an answer shows, oldest first. */
  flawsOfPoints(address: string, told: readonly ToldPoint[]): string[] {
    const points = this.#courses.get(address.toLowerCase())?.points
    return told.flatMap((point, index) => {
      const { ts, valueUsd, capitalInUsd, capitalOutUsd } = point
      const [value, capitalIn, capitalOut] = [valueUsd, capitalInUsd, capitalOutUsd].map(micro) as [
        number,
        number,
        number,
      ]
      const isRecorded = points?.has(textOf({ ts, value, capitalIn, capitalOut })) === true
      const isLater = index === 0 || ts > (told[index - 1]?.ts ?? ts)
      return isRecorded && isLater ? [] : [`${address} has no point ${JSON.stringify(point)} there`]
    })
  }

  /** Errors in the rows of a ledger that an answer shows, newest first. */
  flawsOfRows(address: string, told: readonly ToldRow[]): string[] {
    const rows = this.#courses.get(address.toLowerCase())?.rows
    return told.flatMap((row, index) => {
      const above = told[index - 1]
      const isOlder =
        above === undefined || row.block < above.block || (row.block === above.block && row.logIndex < above.logIndex)
      const isKnown = rows?.get(`${row.txHash} ${row.logIndex}`) === rowText(row.type.toLowerCase(), row)
      return isKnown && isOlder ? [] : [`${address} has no row ${JSON.stringify(row)} there`]
    })
  }

  /** Whether a vault is told as the feed leaves it. */
  isLast(address: string, told: ToldVault): boolean {
    return this.flawsOfVault(address, told, new Map([[address.toLowerCase(), this.#lastOf(address)]])).length === 0
  }

  #lastOf(address: string): number {
    return (this.#courses.get(address.toLowerCase())?.states.length ?? 0) - 1
  }

  #add(fact: Extract<FactInput, { vault: string }>): void {
    const address = fact.vault.toLowerCase()
    const course: Course = this.#courses.get(address) ?? {
      states: [],
      points: new Set(),
      rows: new Map(),
      now: nothing,
    }
    this.#courses.set(address, course)
    course.now = { ...course.now, ...moved(course.now, fact), ts: fact.ts }
    course.states.push(textOf(course.now))
    if (fact.kind === 'mark' || (fact.kind === 'event' && 'valueBeforeUsd' in fact))
      course.points.add(textOf(course.now))
    if (fact.kind !== 'event') return
    const amountUsd = 'amountUsd' in fact && fact.amountUsd !== undefined ? Number(fact.amountUsd) : null
    course.rows.set(`${fact.txHash.toLowerCase()} ${fact.logIndex}`, rowText(fact.type, { ...fact, amountUsd }))
  }
}

const nothing: State = { ts: 0, value: 0, capitalIn: 0, capitalOut: 0 }

/** Value and capital of a vault after a fact. */
function moved(now: State, fact: Extract<FactInput, { vault: string }>): Partial<State> {
  if (fact.kind === 'mark') return { value: micro(fact.valueUsd) }
  if (fact.kind !== 'event' || !('valueBeforeUsd' in fact)) return {}
  const [before, amount] = [micro(fact.valueBeforeUsd), micro(fact.amountUsd)]
  if (fact.type === 'deposit') return { value: before + amount, capitalIn: now.capitalIn + amount }
  return { value: before - amount, capitalOut: now.capitalOut + amount }
}

function textOf({ ts, value, capitalIn, capitalOut }: State): string {
  return [ts, value, capitalIn, capitalOut].join(' ')
}

function rowText(type: string, { block, ts, amountUsd }: Pick<ToldRow, 'block' | 'ts' | 'amountUsd'>): string {
  return [type, block, ts, amountUsd === null ? null : micro(amountUsd)].join(' ')
}

/** Micro-dollars of an amount that is small enough for a float. */
function micro(usd: number | string): number {
  return Math.round(Number(usd) * 1e6)
}
