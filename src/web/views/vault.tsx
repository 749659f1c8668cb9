import { VaultFiguresDocument, type VaultFiguresQuery } from '../documents.generated.ts'
import { useQuery } from '../data/hooks.ts'
import { allVaults, type VaultPageState } from '../page-state.ts'
import { EquityPanel } from '../panels/vault/equity.tsx'
import { FeesPanel } from '../panels/vault/fees.tsx'
import { LedgerPanel } from '../panels/vault/ledger.tsx'
import { PositionsPanel } from '../panels/vault/positions.tsx'
import { PageLink } from '../panels/page-link.tsx'
import { Panel } from '../panels/panel.tsx'
import { Fraction, StatusBadge, Time, TimeAgo, Usd } from '../panels/values.tsx'

type VaultFigures = NonNullable<VaultFiguresQuery['vault']>

/** A vault: its figures, equity, positions, fees and ledger. */
export function VaultView({ state }: { readonly state: VaultPageState }) {
  const variables = { address: state.address }
  const figures = useQuery(VaultFiguresDocument, variables)
  const vault = figures.data?.vault
  const table = (known: VaultFigures) => () => ({
    columns: ['figure', 'value'],
    rows: Object.entries(known).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null ? [] : [[name, value]],
    ),
  })
  return (
    <>
      <h1 tabIndex={-1}>
        Vault <span class="address">{vault?.address ?? state.address}</span>
      </h1>
      {vault === null && <p role="alert">No vault is known at this address.</p>}
      {vault?.suspension != null && (
        <div class="banner" role="status">
          <strong>Suspended</strong> since <Time seconds={vault.suspension.since} />: {vault.suspension.reason}.
          {vault.suspension.exitsAvailable && ' Exits are open.'}
        </div>
      )}
      <Panel
        title="Figures"
        document={VaultFiguresDocument}
        {...{ variables, state: figures }}
        csv={vault == null ? null : table(vault)}
        file={`${state.address}-figures`}
      >
        {vault != null && <Figures vault={vault} />}
      </Panel>
      {vault != null && (
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

function Figures({ vault }: { readonly vault: VaultFigures }) {
  const { owner, strategy, status, updatedAt } = vault
  return (
    <dl class="figures">
      <div class="main">
        <dt>Value</dt>
        <dd>
          <Usd amount={vault.valueUsd} />
        </dd>
      </div>
      <div class="main">
        <dt>Gain net of flows</dt>
        <dd>
          <Usd amount={vault.netUsd} isGain />
        </dd>
      </div>
      <div>
        <dt>by the strategy</dt>
        <dd>
          <Usd amount={vault.strategyDeltaUsd} isGain />
        </dd>
      </div>
      <div>
        <dt>by the market</dt>
        <dd>
          <Usd amount={vault.marketDeltaUsd} isGain />
        </dd>
      </div>
      <div>
        <dt>Deposited</dt>
        <dd>
          <Usd amount={vault.capitalInUsd} />
        </dd>
      </div>
      <div>
        <dt>Withdrawn</dt>
        <dd>
          <Usd amount={vault.capitalOutUsd} />
        </dd>
      </div>
      <div>
        <dt>Status</dt>
        <dd>
          <StatusBadge status={status} />
        </dd>
      </div>
      <div>
        <dt>Strategy</dt>
        <dd>
          <PageLink to={{ ...allVaults, strategy: strategy.id }}>{strategy.name}</PageLink>
        </dd>
      </div>
      <div>
        <dt>APR</dt>
        <dd>
          <Fraction value={strategy.liveApr} />
        </dd>
      </div>
      <div>
        <dt>Sigma</dt>
        <dd>
          <Fraction value={strategy.sigma} />
        </dd>
      </div>
      <div>
        <dt>Newest fact</dt>
        <dd>
          <TimeAgo seconds={updatedAt} />
        </dd>
      </div>
      <div class="long">
        <dt>Owner</dt>
        <dd>
          <PageLink to={{ ...allVaults, owner }}>{owner}</PageLink>
        </dd>
      </div>
    </dl>
  )
}
