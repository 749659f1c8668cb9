import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import {
  Direction,
  VaultListDocument,
  type VaultListQuery,
  VaultOrderField,
  type VaultWhere,
} from '../documents.generated.ts'
import type { CsvTable } from '../data/csv.ts'
import { queryProblem } from '../data/gateway-client.ts'
import { type QueryState, useQuery } from '../data/hooks.ts'
import { formatCount } from '../format/figures.ts'
import type { VaultsPageState } from '../page-state.ts'
import { NavigateContext } from '../panels/page-link.tsx'
import { Panel } from '../panels/panel.tsx'
import { VaultFilters } from '../panels/vault-filters.tsx'
import { TableFrame } from '../panels/table-frame.tsx'
import { VaultTableRow } from '../panels/vault-row.tsx'

const pageSize = 25

type Vaults = VaultListQuery['vaults']
type ListedVault = Vaults['nodes'][number]

const columns: readonly (readonly [name: string, field: VaultOrderField | null, isWide?: boolean])[] = [
  ['Vault', VaultOrderField.Address],
  ['Status', null],
  ['Value', VaultOrderField.ValueUsd],
  ['Gain', VaultOrderField.NetUsd],
  ['by strategy', VaultOrderField.StrategyDeltaUsd, true],
  ['by market', null, true],
  ['APR', null, true],
  ['Trend', null, true],
  ['Newest fact', VaultOrderField.UpdatedAt, true],
]

/** The list of vaults: sorted, filtered and paged by the server. */
export function VaultsView({ state }: { readonly state: VaultsPageState }) {
  const variables = {
    first: pageSize,
    orderBy: { field: state.sort, direction: state.direction },
    where: whereOf(state),
  }
  const first = useQuery(VaultListDocument, { ...variables, after: null })
  const pages = useRef(new Map<string, readonly ListedVault[]>())
  const key = JSON.stringify(variables)
  const vaults = first.data?.vaults
  const rows = (): readonly ListedVault[] => [...(vaults?.nodes ?? []), ...[...pages.current.values()].flat()]
  return (
    <>
      <h1 tabIndex={-1}>Vaults</h1>
      <VaultFilters state={state} />
      <Panel
        title="Vaults"
        document={VaultListDocument}
        variables={variables}
        state={first}
        csv={vaults === undefined ? null : () => tableOf(rows())}
        file="vaults"
      >
        <p role="status" class="faint">
          {vaults === undefined
            ? ''
            : `${formatCount(vaults.totalCount)} ${vaults.totalCount === 1 ? 'vault' : 'vaults'}`}
        </p>
        <TableFrame name="Vaults">
          <thead>
            <tr>
              {columns.map(([name, field, isWide]) => (
                <SortHeader key={name} {...{ name, field, state }} isWide={isWide === true} />
              ))}
            </tr>
          </thead>
          {vaults !== undefined && (
            <PageRows key={key} page={first} variables={variables} pages={pages.current} depth={1} />
          )}
        </TableFrame>
      </Panel>
    </>
  )
}

interface SortHeaderProps {
  readonly name: string
  readonly field: VaultOrderField | null
  readonly isWide: boolean
  readonly state: VaultsPageState
}

function SortHeader({ name, field, isWide, state }: SortHeaderProps) {
  const navigate = useContext(NavigateContext)
  const width = isWide ? 'wide' : undefined
  if (field === null) {
    return (
      <th scope="col" class={width}>
        {name}
      </th>
    )
  }
  const isSorted = field === state.sort
  const isDescending = state.direction === Direction.Desc
  const order = isDescending ? 'descending' : 'ascending'
  const direction = isSorted && isDescending ? Direction.Asc : Direction.Desc
  return (
    <th scope="col" class={width} aria-sort={isSorted ? order : undefined}>
      <button type="button" onClick={() => navigate({ ...state, sort: field, direction })}>
        {name}
        <span aria-hidden="true">{isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  )
}

interface PageRowsProps {
  readonly page: QueryState<VaultListQuery>
  readonly variables: { readonly first: number; readonly orderBy: object; readonly where: VaultWhere }
  /** Rows of all pages after the first, by the depth of the page. */
  readonly pages: Map<string, readonly ListedVault[]>
  readonly depth: number
}

/** The rows of a page, and those of the next when its end comes into sight. */
function PageRows({ page, variables, pages, depth }: PageRowsProps) {
  const [isNextWanted, setNextWanted] = useState(false)
  const vaults = page.data?.vaults
  const end = vaults?.pageInfo.hasNextPage === true ? vaults.pageInfo.endCursor : null
  return (
    <>
      <tbody>
        {vaults?.nodes.map((vault) => (
          <VaultTableRow key={vault.id} vault={vault} />
        ))}
      </tbody>
      {end !== null && !isNextWanted && <MoreRow onWanted={() => setNextWanted(true)} />}
      {end !== null && isNextWanted && <NextPage {...{ variables, pages, end }} depth={depth + 1} />}
    </>
  )
}

function NextPage({ variables, pages, end, depth }: Omit<PageRowsProps, 'page'> & { readonly end: string }) {
  const [isShown, watch] = useInSight()
  const page = useQuery(VaultListDocument, { ...variables, after: end } as never, isShown)
  const key = String(depth)
  useEffect(() => {
    pages.set(key, page.data?.vaults.nodes ?? [])
    return () => void pages.delete(key)
  }, [page.data])
  return (
    <>
      <tbody ref={watch}>
        {page.data === undefined && (
          <tr>
            <td colSpan={columns.length}>{page.error === undefined ? 'Loading…' : queryProblem(page.error)}</td>
          </tr>
        )}
      </tbody>
      <PageRows {...{ page, variables, pages, depth }} />
    </>
  )
}

function MoreRow({ onWanted }: { readonly onWanted: () => void }) {
  const [isShown, watch] = useInSight()
  useEffect(() => {
    if (isShown) onWanted()
  }, [isShown])
  return (
    <tbody ref={watch}>
      <tr>
        <td colSpan={columns.length}>
          <button type="button" onClick={onWanted}>
            Load more vaults
          </button>
        </td>
      </tr>
    </tbody>
  )
}

/** Tells whether an element is on the screen, or near it. */
function useInSight(): [boolean, (element: Element | null) => void] {
  const [isShown, setShown] = useState(false)
  const [element, setElement] = useState<Element | null>(null)
  useEffect(() => {
    if (element === null) return
    const observer = new IntersectionObserver(
      (entries) => setShown(entries.some(({ isIntersecting }) => isIntersecting)),
      { rootMargin: '600px' },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [element])
  return [isShown, setElement]
}

function whereOf({ statuses, strategy, owner, leastUsd }: VaultsPageState): VaultWhere {
  return {
    ...(statuses.length === 0 ? {} : { status: statuses }),
    ...(strategy === null ? {} : { strategy: [strategy] }),
    ...(owner === null ? {} : { owner: [owner] }),
    ...(leastUsd === null ? {} : { valueUsd: { gte: leastUsd } }),
  }
}

function tableOf(vaults: readonly ListedVault[]): CsvTable {
  return {
    columns: [
      ...['address', 'strategy', 'status', 'valueUsd', 'netUsd', 'strategyDeltaUsd', 'marketDeltaUsd'],
      ...['liveApr', 'sigma', 'updatedAt'],
    ],
    rows: vaults.map(({ address, strategy, status, ...vault }) => [
      ...[address, strategy.id, status, vault.valueUsd, vault.netUsd, vault.strategyDeltaUsd, vault.marketDeltaUsd],
      ...[strategy.liveApr, strategy.sigma, vault.updatedAt],
    ]),
  }
}
