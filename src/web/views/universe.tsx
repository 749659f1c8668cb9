import { useContext } from 'preact/hooks'
import { AssetCategory, UniverseAssetsDocument, UniversePoolsDocument } from '../documents.generated.ts'
import { useQuery } from '../data/hooks.ts'
import { words } from '../format/figures.ts'
import type { UniversePageState } from '../page-state.ts'
import { NavigateContext, PageLink } from '../panels/page-link.tsx'
import { Panel } from '../panels/panel.tsx'
import { TableFrame } from '../panels/lists/table-frame.tsx'
import { TimeAgo, Usd } from '../panels/values.tsx'

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
      {...{ variables, state: query }}
      csv={universe === undefined ? null : table}
      file="universe-assets"
    >
      {universe?.screenedAt != null && (
        <p class="faint">
          Screened <TimeAgo seconds={universe.screenedAt} />
        </p>
      )}
      <label>
        Category
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
      <TableFrame name="Assets">
        <thead>
          <tr>
            <th scope="col">Asset</th>
            <th scope="col">Category</th>
            <th scope="col">Venues</th>
            <th scope="col" class="number">
              Depth
            </th>
          </tr>
        </thead>
        <tbody>
          {universe?.assets.map(({ symbol, name, category, venues, liquidityUsd }) => (
            <tr key={symbol}>
              <th scope="row">
                <PageLink to={{ ...state, asset: symbol }}>{symbol}</PageLink>
                <span class="faint">{name}</span>
              </th>
              <td>{words(category)}</td>
              <td>{venues.join(', ')}</td>
              <td class="number">
                <Usd amount={liquidityUsd} />
              </td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
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
      {...{ variables, state: query }}
      csv={pairs === undefined ? null : table}
      file="universe-pairs"
    >
      {state.asset !== null && (
        <p>
          Pairs with {state.asset}. <PageLink to={{ ...state, asset: null }}>Show all pairs</PageLink>
        </p>
      )}
      <TableFrame name="Pairs">
        <thead>
          <tr>
            <th scope="col">Pair</th>
            <th scope="col">Venues</th>
            <th scope="col" class="number">
              TVL
            </th>
            <th scope="col">Emissions</th>
          </tr>
        </thead>
        <tbody>
          {pairs?.map(({ a, b, venues, tvlUsd, emissions }) => (
            <tr key={`${a}/${b}`}>
              <th scope="row">
                {a}/{b}
              </th>
              <td>{venues.join(', ')}</td>
              <td class="number">
                <Usd amount={tvlUsd} />
              </td>
              <td>{emissions ? 'yes' : 'no'}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </Panel>
  )
}
