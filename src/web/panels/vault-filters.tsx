import { useContext, useState } from 'preact/hooks'
import { SearchDocument, StrategyNamesDocument, VaultStatus } from '../documents.generated.ts'
import { queryProblem } from '../data/gateway-client.ts'
import { useQuery, useSurroundings } from '../data/hooks.ts'
import { words } from '../format/figures.ts'
import { allVaults, isAddressText, isAmountText, type VaultsPageState, vaultState } from '../page-state.ts'
import { NavigateContext } from './page-link.tsx'
import { textOf } from './text-of.ts'
import { shortAddress } from './values.tsx'

/** Search and filters of the list of vaults. */
export function VaultFilters({ state }: { readonly state: VaultsPageState }) {
  const navigate = useContext(NavigateContext)
  const strategies = useQuery(StrategyNamesDocument, {}).data?.strategies ?? []
  const toggle = (status: VaultStatus): void => {
    const others = state.statuses.filter((each) => each !== status)
    navigate({ ...state, statuses: others.length < state.statuses.length ? others : [...others, status] })
  }
  const isFiltered =
    state.statuses.length > 0 || [state.strategy, state.owner, state.leastUsd].some((one) => one !== null)
  return (
    <div class="filters">
      <SearchForm />
      <fieldset>
        <legend>Status</legend>
        {Object.values(VaultStatus).map((status) => (
          <label key={status}>
            <input type="checkbox" checked={state.statuses.includes(status)} onChange={() => toggle(status)} />
            {words(status)}
          </label>
        ))}
      </fieldset>
      <label>
        Strategy
        <select
          value={state.strategy ?? ''}
          onChange={({ currentTarget: { value } }) => navigate({ ...state, strategy: value === '' ? null : value })}
        >
          <option value="">all</option>
          {strategies.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Least value in USD
        <input
          inputMode="decimal"
          pattern="\d{1,15}(\.\d{1,6})?"
          value={state.leastUsd ?? ''}
          onChange={({ currentTarget: { value } }) => {
            if (value === '' || isAmountText(value)) navigate({ ...state, leastUsd: value === '' ? null : value })
          }}
        />
      </label>
      {state.owner !== null && <span class="faint">of owner {shortAddress(state.owner)}</span>}
      {isFiltered && (
        <button type="button" onClick={() => navigate({ ...allVaults, sort: state.sort, direction: state.direction })}>
          Clear filters
        </button>
      )}
    </div>
  )
}

/** Leads to the vault at an address, or lists those of an owner. */
function SearchForm() {
  const navigate = useContext(NavigateContext)
  const { client } = useSurroundings()
  const [note, setNote] = useState('')
  const search = (event: SubmitEvent): void => {
    event.preventDefault()
    const address = textOf(event.currentTarget as HTMLFormElement, 'address')
    if (!isAddressText(address)) return setNote('Enter a whole address: 0x and 40 hexadecimal digits.')
    setNote('Searching…')
    client.query(SearchDocument, { address }, ({ data, error }) => {
      setNote(error === undefined ? 'No vault or owner has this address.' : queryProblem(error))
      if (data?.vault) navigate(vaultState(data.vault.address))
      else if (data !== undefined && data.vaults.totalCount > 0) {
        setNote('')
        navigate({ ...allVaults, owner: address })
      }
    })
  }
  return (
    <form role="search" onSubmit={search}>
      <label>
        Address of a vault or an owner
        <input
          name="address"
          type="search"
          placeholder="the whole address, 0x…"
          spellcheck={false}
          autocomplete="off"
        />
      </label>
      <button type="submit">Search</button>
      <p role="status">{note}</p>
    </form>
  )
}
