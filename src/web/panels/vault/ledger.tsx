import { useContext } from 'preact/hooks'
import { EventType, VaultLedgerDocument, type VaultLedgerQuery } from '../../documents.generated.ts'
import type { CsvTable } from '../../data/csv.ts'
import { useQuery, useSurroundings } from '../../data/hooks.ts'
import { type ListPage, readWholeList } from '../../data/whole-lists.ts'
import { transactionLink } from '../../format/block-explorers.ts'
import { formatCount, words } from '../../format/figures.ts'
import type { VaultPageState } from '../../page-state.ts'
import { NavigateContext } from '../page-link.tsx'
import { PagedRows } from '../lists/paged-rows.tsx'
import { Panel } from '../panel.tsx'
import { TableFrame } from '../lists/table-frame.tsx'
import { shortAddress, Time, Usd } from '../values.tsx'

const pageSize = 50
/** Most rows of one query. */
const mostRows = 1_000

type Row = NonNullable<VaultLedgerQuery['vault']>['events']['nodes'][number]

/** The ledger of a vault, newest first, with a filter by type. */
export function LedgerPanel({ state }: { readonly state: VaultPageState }) {
  const navigate = useContext(NavigateContext)
  const { client } = useSurroundings()
  const type = state.types.length === 0 ? null : state.types
  const variables = { address: state.address, type, first: pageSize }
  const query = useQuery(VaultLedgerDocument, { ...variables, after: null })
  const events = query.data?.vault?.events
  const table = async (): Promise<CsvTable> =>
    ledgerTable(await readWholeList(client, VaultLedgerDocument, { ...variables, first: mostRows }, eventsOf))
  const toggle = (one: EventType): void => {
    const others = state.types.filter((each) => each !== one)
    navigate({ ...state, types: others.length < state.types.length ? others : [...others, one] })
  }
  return (
    <Panel
      title="Ledger"
      document={VaultLedgerDocument}
      {...{ variables, state: query }}
      csv={events === undefined ? null : table}
      file={`${state.address}-ledger`}
    >
      <fieldset>
        <legend>Types</legend>
        {Object.values(EventType).map((one) => (
          <label key={one}>
            <input type="checkbox" checked={state.types.includes(one)} onChange={() => toggle(one)} />
            {words(one)}
          </label>
        ))}
      </fieldset>
      <p role="status" class="faint">
        {events === undefined ? '' : `${formatCount(events.totalCount)} ${events.totalCount === 1 ? 'row' : 'rows'}`}
      </p>
      <TableFrame name="Ledger">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Type</th>
            <th scope="col" class="number">
              Amount
            </th>
            <th scope="col" class="wide">
              Position or reason
            </th>
            <th scope="col">Transaction</th>
          </tr>
        </thead>
        {events !== undefined && (
          <PagedRows
            key={JSON.stringify(variables)}
            document={VaultLedgerDocument}
            variables={variables}
            page={query}
            pageOf={eventsOf}
            row={(row, { vault }) => <LedgerRowItem key={row.id} row={row} chainId={vault?.chainId ?? null} />}
            columns={5}
            name="rows"
          />
        )}
      </TableFrame>
    </Panel>
  )
}

function eventsOf({ vault }: VaultLedgerQuery): ListPage<Row> | null {
  return vault?.events ?? null
}

function LedgerRowItem({ row, chainId }: { readonly row: Row; readonly chainId: number | null }) {
  const { ts, type, amountUsd, positionId, reason, txHash } = row
  const link = transactionLink(chainId, txHash)
  return (
    <tr>
      <td class="time">
        <Time seconds={ts} />
      </td>
      <td>{words(type)}</td>
      <td class="number">{amountUsd === null ? '' : <Usd amount={amountUsd} />}</td>
      <td class="wide">{reason ?? positionId}</td>
      <td>
        {link === null ? (
          <span title={txHash}>{shortAddress(txHash)}</span>
        ) : (
          <a href={link} title={txHash} rel="noopener noreferrer">
            {shortAddress(txHash)}
          </a>
        )}
      </td>
    </tr>
  )
}

/** The ledger as REST gives it. */
function ledgerTable(rows: readonly Row[]): CsvTable {
  return {
    columns: ['txHash', 'logIndex', 'block', 'ts', 'type', 'amountUsd', 'positionId', 'reason'],
    rows: rows.map(({ txHash, logIndex, block, ts, type, amountUsd, positionId, reason }) => [
      ...[txHash, logIndex, block, ts, words(type), amountUsd, positionId, reason],
    ]),
  }
}
