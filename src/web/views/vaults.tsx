import { useContext } from 'preact/hooks'
import { Direction, VaultListDocument, type VaultListQuery, type VaultWhere } from '../documents.generated.ts'
import type { CsvTable } from '../data/csv.ts'
import { useSurroundings } from '../data/hooks.ts'
import { usePagedList } from '../data/lists/use-paged-list.ts'
import { readVaultTable, type TableVault } from '../data/lists/vault-table.ts'
import { formatCount } from '../format/figures.ts'
import type { VaultsPageState } from '../page-state.ts'
import type { Heading } from '../panels/lists/columns.tsx'
import { LongTable } from '../panels/lists/tables.tsx'
import { type Navigate, NavigateContext } from '../panels/page-link.tsx'
import { Panel } from '../panels/panel.tsx'
import { orderFields, vaultColumns } from '../panels/vault-columns.tsx'
import { VaultFilters } from '../panels/vault-filters.tsx'

const pageSize = 50

/** The list of vaults: sorted, filtered and paged by the server. */
export function VaultsView({ state }: { readonly state: VaultsPageState }) {
  const navigate = useContext(NavigateContext)
  const { client } = useSurroundings()
  const variables = {
    first: pageSize,
    orderBy: { field: state.sort, direction: state.direction },
    where: whereOf(state),
  }
  const { list, state: query } = usePagedList(VaultListDocument, variables, vaultsOf)
  const total = query.data?.vaults.totalCount
  const table = async (): Promise<CsvTable> => tableOf(await readVaultTable(client, variables))
  return (
    <>
      <h1 tabIndex={-1}>Vaults</h1>
      <VaultFilters state={state} />
      <Panel
        title="Vaults"
        document={VaultListDocument}
        variables={variables}
        state={query}
        csv={total === undefined ? null : table}
        file="vaults"
      >
        <p role="status" class="faint">
          {total === undefined ? '' : `${formatCount(total)} ${total === 1 ? 'vault' : 'vaults'}`}
        </p>
        <LongTable
          name="Vaults"
          columns={vaultColumns}
          headingOf={({ name }) => headingOf(name, state, navigate)}
          list={list}
          total={total}
          keyOf={({ id }) => id}
          rowsName="vaults"
          empty={
            Object.keys(variables.where).length === 0 ? 'No vault is known yet.' : 'No vault matches these filters.'
          }
        />
      </Panel>
    </>
  )
}

function vaultsOf({ vaults }: VaultListQuery): VaultListQuery['vaults'] {
  return vaults
}

/** Returns the heading of a column: a button where the server can order by the column. */
function headingOf(name: string, state: VaultsPageState, navigate: Navigate): Heading {
  const field = orderFields[name]
  if (field === undefined) return { content: name }
  const isSorted = field === state.sort
  const isDescending = state.direction === Direction.Desc
  const direction = isSorted && isDescending ? Direction.Asc : Direction.Desc
  const content = (
    <button type="button" onClick={() => navigate({ ...state, sort: field, direction })}>
      {name}
      <span aria-hidden="true">{isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
    </button>
  )
  return { content, sorted: isSorted ? (isDescending ? 'descending' : 'ascending') : undefined }
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
