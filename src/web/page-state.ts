import { AssetCategory, Direction, EventType, VaultOrderField, VaultStatus } from './documents.generated.ts'

/** The list of vaults: its order and its filters. */
export interface VaultsPageState {
  readonly view: 'vaults'
  readonly sort: VaultOrderField
  readonly direction: Direction
  readonly statuses: readonly VaultStatus[]
  readonly strategy: string | null
  readonly owner: string | null
  /** Decimal text. */
  readonly leastUsd: string | null
}

/** A vault: the window of its chart, and the types of its ledger. */
export interface VaultPageState {
  readonly view: 'vault'
  /** As in the link, which may be truncated. */
  readonly address: string
  readonly since: number | null
  readonly until: number | null
  readonly types: readonly EventType[]
}

/** The universe: its filters. */
export interface UniversePageState {
  readonly view: 'universe'
  readonly category: AssetCategory | null
  readonly asset: string | null
}

/** The state of the page, as encoded in the query of its address. */
export type PageState = VaultsPageState | VaultPageState | { readonly view: 'strategies' } | UniversePageState

export const allVaults: VaultsPageState = {
  view: 'vaults',
  sort: VaultOrderField.ValueUsd,
  direction: Direction.Desc,
  statuses: [],
  strategy: null,
  owner: null,
  leastUsd: null,
}

export const wholeUniverse: UniversePageState = { view: 'universe', category: null, asset: null }

const addressPattern = /^0x[0-9a-fA-F]{40}$/
const decimalPattern = /^\d{1,15}(?:\.\d{1,6})?$/

/** Returns whether a text is the address of a vault or an owner; the gateway verifies its checksum. */
export function isAddressText(text: string): boolean {
  return addressPattern.test(text)
}

/** Returns whether a text is an amount. */
export function isAmountText(text: string): boolean {
  return decimalPattern.test(text)
}

/** Returns the state of a vault's page. */
export function vaultState(address: string): VaultPageState {
  return { view: 'vault', address, since: null, until: null, types: [] }
}

/** Reads the state from the query of an address; invalid parts have their default. */
export function readPageState(search: string): PageState {
  const query = new URLSearchParams(search)
  const address = query.get('vault')
  if (address !== null) {
    const types = valuesOf(EventType, query.get('types'))
    return { view: 'vault', address, since: timeOf(query, 'since'), until: timeOf(query, 'until'), types }
  }
  const view = query.get('view')
  if (view === 'strategies') return { view }
  if (view === 'universe') {
    const [category = null] = valuesOf(AssetCategory, query.get('category'))
    return { view, category, asset: query.get('asset') }
  }
  const [sort = allVaults.sort] = valuesOf(VaultOrderField, query.get('sort'))
  const [direction = allVaults.direction] = valuesOf(Direction, query.get('direction'))
  const [owner, least] = [query.get('owner'), query.get('least')]
  return {
    view: 'vaults',
    sort,
    direction,
    statuses: valuesOf(VaultStatus, query.get('status')),
    strategy: query.get('strategy'),
    owner: owner !== null && isAddressText(owner) ? owner : null,
    leastUsd: least !== null && isAmountText(least) ? least : null,
  }
}

/** Returns the address of a state, relative to the page. */
export function hrefOf(state: PageState): string {
  const query = new URLSearchParams(Object.entries(membersOf(state)).filter(([, value]) => value !== ''))
  return query.size === 0 ? './' : `./?${query.toString().replaceAll('%2C', ',')}`
}

function membersOf(state: PageState): Record<string, string> {
  switch (state.view) {
    case 'strategies':
      return { view: state.view }
    case 'universe':
      return { view: state.view, category: lowerCase([state.category ?? '']), asset: state.asset ?? '' }
    case 'vault': {
      const { address, since, until, types } = state
      return { vault: address, since: String(since ?? ''), until: String(until ?? ''), types: lowerCase(types) }
    }
    case 'vaults':
      return {
        sort: state.sort === allVaults.sort ? '' : lowerCase([state.sort]),
        direction: state.direction === allVaults.direction ? '' : lowerCase([state.direction]),
        status: lowerCase(state.statuses),
        strategy: state.strategy ?? '',
        owner: state.owner ?? '',
        least: state.leastUsd ?? '',
      }
  }
}

function lowerCase(names: readonly string[]): string {
  return names.join(',').toLowerCase()
}

/** Returns the values of an enum that a text names, in the order of the enum. */
function valuesOf<Value extends string>(values: Readonly<Record<string, Value>>, text: string | null): Value[] {
  const named = (text ?? '').toUpperCase().split(',')
  return Object.values(values).filter((value) => named.includes(value))
}

function timeOf(query: URLSearchParams, name: string): number | null {
  const text = query.get(name) ?? ''
  return /^\d{1,11}$/.test(text) ? Number(text) : null
}
