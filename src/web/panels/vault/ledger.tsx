import { useContext, useMemo } from 'preact/hooks'
import { EventType, VaultLedgerDocument, type VaultLedgerQuery } from '../../documents.generated.ts'
import type { CsvTable } from '../../data/csv.ts'
import { useSurroundings } from '../../data/hooks.ts'
import { usePagedList } from '../../data/lists/use-paged-list.ts'
import { type ListPage, readWholeList } from '../../data/lists/whole-lists.ts'
import { transactionLink } from '../../format/block-explorers.ts'
import { formatCount, words } from '../../format/figures.ts'
import type { VaultPageState } from '../../page-state.ts'
import { Choices, toggled } from '../choices.tsx'
import type { Column } from '../lists/columns.tsx'
import { LongTable } from '../lists/tables.tsx'
import { NavigateContext } from '../page-link.tsx'
import { Panel } from '../panel.tsx'
import { shortAddress, Time, Usd } from '../values.tsx'

const pageSize = 50
/** Maximum number of rows of one query. */
const maxRows = 1_000

type Row = NonNullable<VaultLedgerQuery['vault']>['events']['nodes'][number]

/** The ledger of a vault, newest first, with a filter by type. */
export function LedgerPanel({ state }: { readonly state: VaultPageState }) {
  const navigate = useContext(NavigateContext)
  const { client } = useSurroundings()
  const type = state.types.length === 0 ? null : state.types
  const variables = { address: state.address, type, first: pageSize }
  const { list, state: query } = usePagedList(VaultLedgerDocument, variables, eventsOf)
  const events = query.data?.vault?.events
  const chainId = query.data?.vault?.chainId ?? null
  const columns = useMemo(() => columnsOf(chainId), [chainId])
  const table = async (): Promise<CsvTable> =>
    ledgerTable(await readWholeList(client, VaultLedgerDocument, { ...variables, first: maxRows }, eventsOf))
  return (
    <Panel
      title="Ledger"
      document={VaultLedgerDocument}
      variables={variables}
      state={query}
      csv={events === undefined ? null : table}
      file={`${state.address}-ledger`}
    >
      <Choices
        legend="Types"
        values={Object.values(EventType)}
        isChosen={(one) => state.types.includes(one)}
        toggle={(one) => navigate({ ...state, types: toggled(state.types, one) })}
        labelOf={words}
      />
      <p role="status" class="faint">
        {events === undefined ? '' : `${formatCount(events.totalCount)} ${events.totalCount === 1 ? 'row' : 'rows'}`}
      </p>
      <LongTable
        name="Ledger"
        columns={columns}
        list={list}
        total={events?.totalCount}
        keyOf={({ id }) => id}
        rowsName="rows"
        empty={type === null ? 'The ledger has no rows yet.' : 'The ledger has no rows of these types.'}
      />
    </Panel>
  )
}

function eventsOf({ vault }: VaultLedgerQuery): ListPage<Row> | null {
  return vault?.events ?? null
}

/** The columns of the ledger of a vault on a chain. */
function columnsOf(chainId: number | null): readonly Column<Row>[] {
  return [
    { name: 'Time', classes: 'time', cell: ({ ts }) => <Time seconds={ts} /> },
    { name: 'Type', classes: 'type', cell: ({ type }) => words(type) },
    { name: 'Amount', classes: 'number', cell: ({ amountUsd }) => amountUsd !== null && <Usd amount={amountUsd} /> },
    { name: 'Position or reason', classes: 'reason', cell: ({ reason, positionId }) => reason ?? positionId },
    { name: 'Transaction', classes: 'hash', cell: ({ txHash }) => <Transaction txHash={txHash} chainId={chainId} /> },
  ]
}

function Transaction({ txHash, chainId }: { readonly txHash: string; readonly chainId: number | null }) {
  const link = transactionLink(chainId, txHash)
  const name = shortAddress(txHash)
  return link === null ? (
    <span class="address" title={txHash}>
      {name}
    </span>
  ) : (
    <a class="address" href={link} title={txHash} rel="noopener noreferrer">
      {name}
    </a>
  )
}

/** Returns the ledger as a table with the columns of the REST interface. */
function ledgerTable(rows: readonly Row[]): CsvTable {
  return {
    columns: ['txHash', 'logIndex', 'block', 'ts', 'type', 'amountUsd', 'positionId', 'reason'],
    rows: rows.map(({ txHash, logIndex, block, ts, type, amountUsd, positionId, reason }) => [
      ...[txHash, logIndex, block, ts, words(type), amountUsd, positionId, reason],
    ]),
  }
}
