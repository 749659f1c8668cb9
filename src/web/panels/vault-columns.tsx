import { type VaultListQuery, VaultOrderField } from '../documents.generated.ts'
import { vaultState } from '../page-state.ts'
import type { Column } from './lists/columns.tsx'
import { PageLink } from './page-link.tsx'
import { Sparkline } from './sparkline.tsx'
import { Fraction, shortAddress, StatusBadge, TimeAgo, Usd } from './values.tsx'

export type ListedVault = VaultListQuery['vaults']['nodes'][number]

/** The columns of the list of vaults. */
export const vaultColumns: readonly Column<ListedVault>[] = [
  {
    name: 'Vault',
    classes: 'vault',
    isHeading: true,
    cell: ({ address, strategy }) => (
      <>
        <PageLink to={vaultState(address)} title={address} class="address">
          {shortAddress(address)}
        </PageLink>
        <span class="faint">{strategy.name}</span>
      </>
    ),
  },
  { name: 'Status', classes: 'status', cell: ({ status }) => <StatusBadge status={status} /> },
  { name: 'Value', classes: 'number', cell: ({ valueUsd }) => <Usd amount={valueUsd} isRounded /> },
  { name: 'Gain', classes: 'number', cell: ({ netUsd }) => <Usd amount={netUsd} isGain isRounded /> },
  {
    name: 'by strategy',
    classes: 'number',
    cell: ({ strategyDeltaUsd }) => <Usd amount={strategyDeltaUsd} isGain isRounded />,
  },
  {
    name: 'by market',
    classes: 'number',
    cell: ({ marketDeltaUsd }) => <Usd amount={marketDeltaUsd} isGain isRounded />,
  },
  { name: 'APR', classes: 'number apr', cell: ({ strategy }) => <Fraction value={strategy.liveApr} /> },
  {
    name: 'Trend',
    classes: 'trend',
    cell: ({ equity }) => <Sparkline gains={equity.map(({ netUsd }) => netUsd)} />,
  },
  { name: 'Newest fact', classes: 'time', cell: ({ updatedAt }) => <TimeAgo seconds={updatedAt} /> },
]

/** The fields by which the server orders vaults, by column. */
export const orderFields: Readonly<Record<string, VaultOrderField>> = {
  Vault: VaultOrderField.Address,
  Value: VaultOrderField.ValueUsd,
  Gain: VaultOrderField.NetUsd,
  'by strategy': VaultOrderField.StrategyDeltaUsd,
  'Newest fact': VaultOrderField.UpdatedAt,
}
