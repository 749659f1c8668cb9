import { useContext } from 'preact/hooks'
import {
  Direction,
  VaultListDocument,
  VaultOrderField,
  VaultTableDocument,
  type VaultTableQuery,
  type VaultWhere,
} from '../documents.generated.ts'
import type { CsvTable } from '../data/csv.ts'
import { useQuery, useSurroundings } from '../data/hooks.ts'
import { readWholeList } from '../data/whole-lists.ts'
import { formatCount } from '../format/figures.ts'
import type { VaultsPageState } from '../page-state.ts'
import { NavigateContext } from '../panels/page-link.tsx'
import { PagedRows } from '../panels/lists/paged-rows.tsx'
import { Panel } from '../panels/panel.tsx'
import { VaultFilters } from '../panels/vault-filters.tsx'
import { TableFrame } from '../panels/lists/table-frame.tsx'
import { VaultTableRow } from '../panels/vault-row.tsx'

const pageSize = 25
/** Most vaults of one query. */
const mostVaults = 200

type TableVault = VaultTableQuery['vaults']['nodes'][number]

/** Columns with their classes: `wide` ones are left out on a narrow screen. */
const columns: readonly (readonly [name: string, field: VaultOrderField | null, classes?: string])[] = [
  ['Vault', VaultOrderField.Address],
  ['Status', null, 'wide'],
  ['Value', VaultOrderField.ValueUsd, 'number'],
  ['Gain', VaultOrderField.NetUsd, 'number'],
  ['by strategy', VaultOrderField.StrategyDeltaUsd, 'number wide'],
  ['by market', null, 'number wide'],
  ['APR', null, 'number wide'],
  ['Trend', null, 'wide'],
  ['Newest fact', VaultOrderField.UpdatedAt, 'wide'],
]

/** The list of vaults: sorted, filtered and paged by the server. */
export function VaultsView({ state }: { readonly state: VaultsPageState }) {
  const variables = {
    first: pageSize,
    orderBy: { field: state.sort, direction: state.direction },
    where: whereOf(state),
  }
  const first = useQuery(VaultListDocument, { ...variables, after: null })
  const { client } = useSurroundings()
  const vaults = first.data?.vaults
  const table = async (): Promise<CsvTable> =>
    tableOf(await readWholeList(client, VaultTableDocument, { ...variables, first: mostVaults }, (data) => data.vaults))
  return (
    <>
      <h1 tabIndex={-1}>Vaults</h1>
      <VaultFilters state={state} />
      <Panel
        title="Vaults"
        document={VaultListDocument}
        variables={variables}
        state={first}
        csv={vaults === undefined ? null : table}
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
              {columns.map(([name, field, classes]) => (
                <SortHeader key={name} {...{ name, field, state, classes }} />
              ))}
            </tr>
          </thead>
          {vaults !== undefined && (
            <PagedRows
              key={JSON.stringify(variables)}
              document={VaultListDocument}
              variables={variables}
              page={first}
              pageOf={(data) => data.vaults}
              row={(vault) => <VaultTableRow key={vault.id} vault={vault} />}
              columns={columns.length}
              name="vaults"
            />
          )}
        </TableFrame>
      </Panel>
    </>
  )
}

interface SortHeaderProps {
  readonly name: string
  readonly field: VaultOrderField | null
  readonly classes: string | undefined
  readonly state: VaultsPageState
}

function SortHeader({ name, field, classes, state }: SortHeaderProps) {
  const navigate = useContext(NavigateContext)
  if (field === null) {
    return (
      <th scope="col" class={classes}>
        {name}
      </th>
    )
  }
  const isSorted = field === state.sort
  const isDescending = state.direction === Direction.Desc
  const order = isDescending ? 'descending' : 'ascending'
  const direction = isSorted && isDescending ? Direction.Asc : Direction.Desc
  return (
    <th scope="col" class={classes} aria-sort={isSorted ? order : undefined}>
      <button type="button" onClick={() => navigate({ ...state, sort: field, direction })}>
        {name}
        <span aria-hidden="true">{isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  )
}

function whereOf({ statuses, strategy, owner, leastUsd }: VaultsPageState): VaultWhere {
  return {
    ...(statuses.length === 0 ? {} : { status: statuses }),
    ...(strategy === null ? {} : { strategy: [strategy] }),
    ...(owner === null ? {} : { owner: [owner] }),
    ...(leastUsd === null ? {} : { valueUsd: { gte: leastUsd } }),
  }
}

function tableOf(vaults: readonly TableVault[]): CsvTable {
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
