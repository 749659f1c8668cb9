import { useContext, useMemo } from 'preact/hooks'
import {
  AssetCategory,
  UniverseAssetsDocument,
  type UniverseAssetsQuery,
  UniversePoolsDocument,
  type UniversePoolsQuery,
} from '../documents.generated.ts'
import { useQuery } from '../data/hooks.ts'
import { words } from '../format/figures.ts'
import type { UniversePageState } from '../page-state.ts'
import type { Column } from '../panels/lists/columns.tsx'
import { Table } from '../panels/lists/tables.tsx'
import { NavigateContext, PageLink } from '../panels/page-link.tsx'
import { Panel } from '../panels/panel.tsx'
import { TimeAgo, Usd } from '../panels/values.tsx'

type Asset = UniverseAssetsQuery['universe']['assets'][number]
type Pair = UniversePoolsQuery['universe']['pairs'][number]

/** The assets and pairs that pass the eligibility screen. */
export function UniverseView({ state }: { readonly state: UniversePageState }) {
  return (
    <>
      <h1 tabIndex={-1}>Universe</h1>
      <AssetsPanel state={state} />
      <PoolsPanel state={state} />
    </>
  )
}

function AssetsPanel({ state }: { readonly state: UniversePageState }) {
  const navigate = useContext(NavigateContext)
  const variables = { category: state.category }
  const query = useQuery(UniverseAssetsDocument, variables)
  const universe = query.data?.universe
  const columns = useMemo(() => assetColumns(state), [state])
  const table = () => ({
    columns: ['symbol', 'name', 'category', 'venues', 'liquidityUsd'],
    rows: (universe?.assets ?? []).map(({ symbol, name, category, venues, liquidityUsd }) => [
      ...[symbol, name, words(category), venues.join(' '), liquidityUsd],
    ]),
  })
  return (
    <Panel
      title="Assets"
      document={UniverseAssetsDocument}
      variables={variables}
      state={query}
      csv={universe === undefined ? null : table}
      file="universe-assets"
    >
      {universe?.screenedAt != null && (
        <p class="faint">
          Screened <TimeAgo seconds={universe.screenedAt} />
        </p>
      )}
      <label class="field row">
        <span>Category</span>
        <select
          value={state.category ?? ''}
          onChange={({ currentTarget: { value } }) => {
            const category = Object.values(AssetCategory).find((each) => each === value) ?? null
            navigate({ ...state, category })
          }}
        >
          <option value="">all</option>
          {Object.values(AssetCategory).map((category) => (
            <option key={category} value={category}>
              {words(category)}
            </option>
          ))}
        </select>
      </label>
      <Table
        name="Assets"
        columns={columns}
        rows={universe?.assets}
        keyOf={({ symbol }) => symbol}
        empty={state.category === null ? 'No asset passes the screen.' : 'No asset of this category passes the screen.'}
      />
    </Panel>
  )
}

function PoolsPanel({ state }: { readonly state: UniversePageState }) {
  const variables = { asset: state.asset }
  const query = useQuery(UniversePoolsDocument, variables)
  const pairs = query.data?.universe.pairs
  const table = () => ({
    columns: ['a', 'b', 'venues', 'tvlUsd', 'emissions'],
    rows: (pairs ?? []).map(({ a, b, venues, tvlUsd, emissions }) => [a, b, venues.join(' '), tvlUsd, emissions]),
  })
  return (
    <Panel
      title="Pairs"
      document={UniversePoolsDocument}
      variables={variables}
      state={query}
      csv={pairs === undefined ? null : table}
      file="universe-pairs"
    >
      {state.asset !== null && (
        <p>
          Pairs with {state.asset}. <PageLink to={{ ...state, asset: null }}>Show all pairs</PageLink>
        </p>
      )}
      <Table name="Pairs" columns={pairColumns} rows={pairs} keyOf={pairName} empty="No such pair passes the screen." />
    </Panel>
  )
}

function assetColumns(state: UniversePageState): readonly Column<Asset>[] {
  return [
    {
      name: 'Asset',
      isHeading: true,
      cell: ({ symbol, name }) => (
        <>
          <PageLink to={{ ...state, asset: symbol }}>{symbol}</PageLink>
          <span class="faint">{name}</span>
        </>
      ),
    },
    { name: 'Category', cell: ({ category }) => words(category) },
    { name: 'Venues', cell: ({ venues }) => venues.join(', ') },
    { name: 'Depth', classes: 'number', cell: ({ liquidityUsd }) => <Usd amount={liquidityUsd} /> },
  ]
}

function pairName({ a, b }: Pair): string {
  return `${a}/${b}`
}

const pairColumns: readonly Column<Pair>[] = [
  { name: 'Pair', isHeading: true, cell: pairName },
  { name: 'Venues', cell: ({ venues }) => venues.join(', ') },
  { name: 'TVL', classes: 'number', cell: ({ tvlUsd }) => <Usd amount={tvlUsd} /> },
  { name: 'Emissions', cell: ({ emissions }) => (emissions ? 'yes' : 'no') },
]
