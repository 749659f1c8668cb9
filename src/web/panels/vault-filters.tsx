import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
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
  const strategies = useQuery(StrategyNamesDocument, {})
  // Counts how often the filters were cleared, to reset a refused amount too.
  const [clears, setClears] = useState(0)
  const isFiltered =
    state.statuses.length > 0 || [state.strategy, state.owner, state.leastUsd].some((one) => one !== null)
  const clear = (): void => {
    setClears(clears + 1)
    navigate({ ...allVaults, sort: state.sort, direction: state.direction })
  }
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
          {strategies.data?.strategies.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <LeastValue key={clears} amount={state.leastUsd} onAmount={(leastUsd) => navigate({ ...state, leastUsd })}>
        {state.owner !== null && <span class="faint">of owner {shortAddress(state.owner)}</span>}
        {isFiltered && (
          <button type="button" onClick={clear}>
            Clear filters
          </button>
        )}
      </LeastValue>
    </div>
  )
}

interface LeastValueProps {
  readonly amount: string | null
  readonly onAmount: (amount: string | null) => void
  /** Filters between the field and its message, so that the message does not move them. */
  readonly children: ComponentChildren
}

/** The field of an amount, which retains the typed text until it is a valid amount. */
function LeastValue({ amount, onAmount, children }: LeastValueProps) {
  const [draft, setDraft] = useState<string | null>(null)
  const [isRefused, setRefused] = useState(false)
  useEffect(() => {
    setDraft(null)
    setRefused(false)
  }, [amount])
  const accept = (text: string): void => {
    const isAccepted = text === '' || isAmountText(text)
    setRefused(!isAccepted)
    if (!isAccepted) return
    setDraft(null)
    onAmount(text === '' ? null : text)
  }
  return (
    <>
      <label class="field">
        <span>Least value in USD</span>
        <input
          inputMode="decimal"
          value={draft ?? amount ?? ''}
          aria-invalid={isRefused}
          aria-describedby={isRefused ? 'least-value-problem' : undefined}
          onInput={({ currentTarget: { value } }) => {
            setDraft(value)
            setRefused(false)
          }}
          onChange={({ currentTarget: { value } }) => accept(value.trim())}
        />
      </label>
      {children}
      {isRefused && (
        <p id="least-value-problem" role="alert" class="problem">
          Write the amount without separators, with a point before its decimals, of which there are at most six: 1000.50
        </p>
      )}
    </>
  )
}
