import { useContext, useEffect, useState } from 'preact/hooks'
import { EventType, VaultLedgerDocument, type VaultLedgerQuery } from '../../documents.generated.ts'
import { useQuery } from '../../data/hooks.ts'
import { transactionLink } from '../../format/block-explorers.ts'
import { formatCount, words } from '../../format/figures.ts'
import type { VaultPageState } from '../../page-state.ts'
import { NavigateContext } from '../page-link.tsx'
import { Panel } from '../panel.tsx'
import { TableFrame } from '../table-frame.tsx'
import { shortAddress, Time, Usd } from '../values.tsx'

const pageSize = 50

type Row = NonNullable<VaultLedgerQuery['vault']>['events']['nodes'][number]

/** The ledger of a vault, newest first, with a filter by type. */
export function LedgerPanel({ state }: { readonly state: VaultPageState }) {
  const navigate = useContext(NavigateContext)
  const [pages, setPages] = useState(1)
  const type = state.types.length === 0 ? null : state.types
  const variables = { address: state.address, type, first: pages * pageSize }
  const query = useQuery(VaultLedgerDocument, variables)
  const events = query.data?.vault?.events
  useEffect(() => setPages(1), [state.types])
  const toggle = (one: EventType): void => {
    const others = state.types.filter((each) => each !== one)
    navigate({ ...state, types: others.length < state.types.length ? others : [...others, one] })
  }
  return (
    <Panel
      title="Ledger"
      document={VaultLedgerDocument}
      {...{ variables, state: query }}
      csv={events === undefined ? null : () => ledgerTable(events.nodes)}
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
            <th scope="col">Amount</th>
            <th scope="col" class="wide">
              Position or reason
            </th>
            <th scope="col">Transaction</th>
          </tr>
        </thead>
        <tbody>
          {events?.nodes.map((row) => (
            <LedgerRowItem key={row.id} row={row} chainId={query.data?.vault?.chainId ?? null} />
          ))}
        </tbody>
      </TableFrame>
      {events?.pageInfo.hasNextPage === true && pages < mostPages && (
        <button type="button" onClick={() => setPages(pages + 1)}>
          Load more rows
        </button>
      )}
    </Panel>
  )
}

/** Pages that fit the most rows of one query. */
const mostPages = 20

function LedgerRowItem({ row, chainId }: { readonly row: Row; readonly chainId: number | null }) {
  const { ts, type, amountUsd, positionId, reason, txHash } = row
  const link = transactionLink(chainId, txHash)
  return (
    <tr>
      <td>
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

function ledgerTable(rows: readonly Row[]) {
  return {
    columns: ['ts', 'type', 'amountUsd', 'positionId', 'reason', 'block', 'logIndex', 'txHash'],
    rows: rows.map(({ ts, type, amountUsd, positionId, reason, block, logIndex, txHash }) => [
      ...[ts, type, amountUsd, positionId, reason, block, logIndex, txHash],
    ]),
  }
}
