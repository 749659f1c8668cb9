import { useContext } from 'preact/hooks'
import { StrategyNamesDocument, VaultStatus } from '../documents.generated.ts'
import { useQuery } from '../data/hooks.ts'
import { words } from '../format/figures.ts'
import { allVaults, isAmountText, type VaultsPageState } from '../page-state.ts'
import { Choices, toggled } from './choices.tsx'
import { NavigateContext } from './page-link.tsx'
import { SearchForm } from './search-form.tsx'
import { shortAddress } from './values.tsx'

/** Search and filters of the list of vaults. */
export function VaultFilters({ state }: { readonly state: VaultsPageState }) {
  const navigate = useContext(NavigateContext)
  const strategies = useQuery(StrategyNamesDocument, {}).data?.strategies ?? []
  const isFiltered =
    state.statuses.length > 0 || [state.strategy, state.owner, state.leastUsd].some((one) => one !== null)
  return (
    <div class="filters">
      <SearchForm strategies={strategies} />
      <Choices
        legend="Status"
        values={Object.values(VaultStatus)}
        isChosen={(status) => state.statuses.includes(status)}
        toggle={(status) => navigate({ ...state, statuses: toggled(state.statuses, status) })}
        labelOf={words}
      />
      <label class="field">
        <span>Strategy</span>
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
      <label class="field">
        <span>Least value in USD</span>
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
