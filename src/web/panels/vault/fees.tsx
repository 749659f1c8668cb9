import { VaultFeesDocument } from '../../documents.generated.ts'
import { useQuery } from '../../data/hooks.ts'
import { Panel } from '../panel.tsx'
import { Figure, Usd } from '../values.tsx'

const names = {
  contributedUsd: 'Contributed',
  withdrawnUsd: 'Withdrawn',
  taxedUsd: 'Fees taken',
  highWaterUsd: 'High-water mark',
} as const

/** The fee summary of a vault. */
export function FeesPanel({ address }: { readonly address: string }) {
  const variables = { address }
  const state = useQuery(VaultFeesDocument, variables)
  const fees = state.data?.vault?.fees
  const rows =
    fees === undefined ? [] : (Object.keys(names) as (keyof typeof names)[]).map((name) => [name, fees[name]] as const)
  return (
    <Panel
      title="Fees"
      document={VaultFeesDocument}
      variables={variables}
      state={state}
      csv={fees === undefined ? null : () => ({ columns: ['figure', 'value'], rows })}
      file={`${address}-fees`}
    >
      <dl class="figures">
        {rows.map(([name, amount]) => (
          <Figure key={name} name={names[name]}>
            <Usd amount={amount} />
          </Figure>
        ))}
      </dl>
    </Panel>
  )
}
