import { memo } from './memo.ts'
import type { VaultListQuery } from '../documents.generated.ts'
import { vaultState } from '../page-state.ts'
import { PageLink } from './page-link.tsx'
import { Sparkline } from './sparkline.tsx'
import { Fraction, shortAddress, StatusBadge, TimeAgo, Usd } from './values.tsx'

export interface VaultTableRowProps {
  readonly vault: VaultListQuery['vaults']['nodes'][number]
}

/** A row of the list of vaults, rendered again only where its vault has changed. */
export const VaultTableRow = memo(({ vault }: VaultTableRowProps) => (
  <tr>
    <th scope="row">
      <PageLink to={vaultState(vault.address)} title={vault.address}>
        {shortAddress(vault.address)}
      </PageLink>
      <span class="faint">{vault.strategy.name}</span>
      <span class="narrow">
        <StatusBadge status={vault.status} />
      </span>
    </th>
    <td class="wide">
      <StatusBadge status={vault.status} />
    </td>
    <td class="number">
      <Usd amount={vault.valueUsd} isRounded />
    </td>
    <td class="number">
      <Usd amount={vault.netUsd} isGain isRounded />
    </td>
    <td class="number wide">
      <Usd amount={vault.strategyDeltaUsd} isGain isRounded />
    </td>
    <td class="number wide">
      <Usd amount={vault.marketDeltaUsd} isGain isRounded />
    </td>
    <td class="number wide">
      <Fraction value={vault.strategy.liveApr} />
    </td>
    <td class="wide">
      <Sparkline gains={vault.equity.map(({ netUsd }) => netUsd)} />
    </td>
    <td class="wide">
      <TimeAgo seconds={vault.updatedAt} />
    </td>
  </tr>
))
