import { StrategyListDocument, type StrategyListQuery } from '../documents.generated.ts'
import type { CsvTable } from '../data/csv.ts'
import { useQuery } from '../data/hooks.ts'
import { formatCount } from '../format/figures.ts'
import { allVaults, vaultState } from '../page-state.ts'
import { PageLink } from '../panels/page-link.tsx'
import { Panel } from '../panels/panel.tsx'
import { Figure, Fraction, shortAddress, Usd } from '../panels/values.tsx'

type ListedStrategy = StrategyListQuery['strategies'][number]

const variables = { vaults: 3 }

/** The catalogue of strategies. */
export function StrategiesView() {
  const state = useQuery(StrategyListDocument, variables)
  const strategies = state.data?.strategies
  return (
    <>
      <h1 tabIndex={-1}>Strategies</h1>
      <Panel
        title="Catalogue"
        document={StrategyListDocument}
        variables={variables}
        state={state}
        csv={strategies === undefined ? null : () => strategyTable(strategies)}
        file="strategies"
      >
        {strategies?.length === 0 && <p class="faint">No strategy is published yet.</p>}
        <div class="cards">
          {strategies?.map((strategy) => (
            <StrategyCard key={strategy.id} strategy={strategy} />
          ))}
        </div>
      </Panel>
    </>
  )
}

function StrategyCard({ strategy }: { readonly strategy: ListedStrategy }) {
  const { id, name, tagline, description, liveApr, sigma, pairs, vaults } = strategy
  const headingId = `strategy-${id}`
  return (
    <article aria-labelledby={headingId}>
      <h3 id={headingId}>{name}</h3>
      <p>{tagline}</p>
      <p class="faint">{description}</p>
      <dl class="figures">
        <Figure name="APR">
          <Fraction value={liveApr} />
        </Figure>
        <Figure name="Sigma">
          <Fraction value={sigma} />
        </Figure>
      </dl>
      <dl>
        <dt>Pairs</dt>
        <dd>
          {pairs.length === 0 && <span class="faint">none now</span>}
          <ul>
            {pairs.map(({ a, b, venues }) => (
              <li key={`${a}/${b}`}>
                <bdi>{a}</bdi>/<bdi>{b}</bdi> <span class="faint">{venues.join(', ')}</span>
              </li>
            ))}
          </ul>
        </dd>
      </dl>
      <dl>
        <dt>Vaults</dt>
        <dd>
          <ul>
            {vaults.nodes.map(({ address, valueUsd }) => (
              <li key={address}>
                <PageLink to={vaultState(address)} title={address} class="address">
                  {shortAddress(address)}
                </PageLink>{' '}
                <Usd amount={valueUsd} isRounded />
              </li>
            ))}
          </ul>
          <PageLink to={{ ...allVaults, strategy: id }}>
            {vaults.totalCount === 1
              ? `The one vault of ${name}`
              : `All ${formatCount(vaults.totalCount)} vaults of ${name}`}
          </PageLink>
        </dd>
      </dl>
    </article>
  )
}

function strategyTable(strategies: readonly ListedStrategy[]): CsvTable {
  return {
    columns: ['id', 'name', 'tagline', 'description', 'liveApr', 'sigma', 'pairs', 'vaults'],
    rows: strategies.map(({ id, name, tagline, description, liveApr, sigma, pairs, vaults }) => [
      ...[id, name, tagline, description, liveApr, sigma],
      ...[pairs.map(({ a, b }) => `${a}/${b}`).join(' '), vaults.totalCount],
    ]),
  }
}
