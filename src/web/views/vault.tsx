import type { ComponentChildren } from 'preact'
import { VaultFiguresDocument, type VaultFiguresQuery } from '../documents.generated.ts'
import type { Cell, CsvTable } from '../data/csv.ts'
import { useQuery } from '../data/hooks.ts'
import { allVaults, isAddressText, type VaultPageState } from '../page-state.ts'
import { EquityPanel } from '../panels/vault/equity.tsx'
import { FeesPanel } from '../panels/vault/fees.tsx'
import { LedgerPanel } from '../panels/vault/ledger.tsx'
import { PositionsPanel } from '../panels/vault/positions.tsx'
import { PageLink } from '../panels/page-link.tsx'
import { Panel } from '../panels/panel.tsx'
import { Figure, Fraction, StatusBadge, Time, TimeAgo, Usd } from '../panels/values.tsx'

type VaultFigures = NonNullable<VaultFiguresQuery['vault']>

/** A vault: its figures, equity, positions, fees and ledger. */
export function VaultView({ state }: { readonly state: VaultPageState }) {
  if (isAddressText(state.address)) return <KnownVault state={state} />
  return (
    <NoVault address={state.address}>
      This is not the address of a vault, which has 0x and 40 digits from 0 to 9 and a to f. Is the link complete?
    </NoVault>
  )
}

function NoVault({ address, children }: { readonly address: string; readonly children: ComponentChildren }) {
  return (
    <>
      <h1 tabIndex={-1}>
        Vault <span class="address">{address}</span>
      </h1>
      <p role="alert" class="banner">
        {children} <PageLink to={allVaults}>All vaults</PageLink>
      </p>
    </>
  )
}

function KnownVault({ state }: { readonly state: VaultPageState }) {
  const variables = { address: state.address }
  const figures = useQuery(VaultFiguresDocument, variables)
  const vault = figures.data?.vault
  if (vault === null) return <NoVault address={state.address}>No vault is known at this address.</NoVault>
  return (
    <>
      <h1 tabIndex={-1}>
        Vault <span class="address">{vault?.address ?? state.address}</span>
      </h1>
      {vault?.suspension != null && (
        <div class="banner" role="status">
          <strong>Suspended</strong> since <Time seconds={vault.suspension.since} />:{' '}
          <bdi>{vault.suspension.reason}</bdi>.{vault.suspension.exitsAvailable && ' Exits are open.'}
        </div>
      )}
      <Panel
        title="Figures"
        document={VaultFiguresDocument}
        variables={variables}
        state={figures}
        csv={vault === undefined ? null : () => figureTable(vault)}
        file={`${state.address}-figures`}
      >
        {vault !== undefined && <Figures vault={vault} />}
      </Panel>
      {vault !== undefined && (
        <>
          <EquityPanel state={state} updatedAt={vault.updatedAt} />
          <PositionsPanel address={state.address} />
          <FeesPanel address={state.address} />
          <LedgerPanel state={state} />
        </>
      )}
    </>
  )
}

/** Returns the figures as a table; figures of the strategy and of a suspension have its name as a prefix. */
function figureTable(vault: VaultFigures): CsvTable {
  const rows = Object.entries(vault).flatMap(([name, value]): [string, Cell][] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).map(([part, cell]) => [`${name}.${part}`, cell])
      : [[name, value]],
  )
  return { columns: ['figure', 'value'], rows }
}

function Figures({ vault }: { readonly vault: VaultFigures }) {
  const { owner, strategy, status, updatedAt } = vault
  return (
    <>
      <dl class="figures headline">
        <Figure name="Value" class="main">
          <Usd amount={vault.valueUsd} />
        </Figure>
        <Figure name="Gain net of flows" class="main">
          <Usd amount={vault.netUsd} isGain />
        </Figure>
        <Figure name="by the strategy" class="main">
          <Usd amount={vault.strategyDeltaUsd} isGain />
        </Figure>
        <Figure name="by the market" class="main">
          <Usd amount={vault.marketDeltaUsd} isGain />
        </Figure>
      </dl>
      <dl class="figures">
        <Figure name="Status">
          <StatusBadge status={status} />
        </Figure>
        <Figure name="Strategy">
          <PageLink to={{ ...allVaults, strategy: strategy.id }}>{strategy.name}</PageLink>
        </Figure>
        <Figure name="APR">
          <Fraction value={strategy.liveApr} />
        </Figure>
        <Figure name="Sigma">
          <Fraction value={strategy.sigma} />
        </Figure>
        <Figure name="Deposited">
          <Usd amount={vault.capitalInUsd} />
        </Figure>
        <Figure name="Withdrawn">
          <Usd amount={vault.capitalOutUsd} />
        </Figure>
        <Figure name="Newest fact">
          <TimeAgo seconds={updatedAt} />
        </Figure>
        <Figure name="Owner" class="long">
          <PageLink to={{ ...allVaults, owner }} class="address">
            {owner}
          </PageLink>
        </Figure>
      </dl>
    </>
  )
}
