import { useMemo, useState } from 'preact/hooks'
import { createGatewayClient } from './data/gateway-client.ts'
import { ListCache } from './data/lists/list-cache.ts'
import { SurroundingsContext, useChanges, useGatewayState } from './data/hooks.ts'
import { usePageState } from './page-history.ts'
import { allVaults, isAddressText, type PageState, wholeUniverse } from './page-state.ts'
import { KeyForm } from './panels/key-form.tsx'
import { NavigateContext, PageLink } from './panels/page-link.tsx'
import { StatusLine } from './panels/status-line.tsx'
import { ThemeSwitch } from './panels/theme-switch.tsx'
import { StrategiesView } from './views/strategies.tsx'
import { UniverseView } from './views/universe.tsx'
import { VaultView } from './views/vault.tsx'
import { VaultsView } from './views/vaults.tsx'

export interface ExplorerProps {
  readonly nowSeconds: () => number
  readonly needsKey: boolean
}

/** The explorer: its navigation, the state of the data, and the view of the current address. */
export function Explorer({ nowSeconds, needsKey }: ExplorerProps) {
  const [state, navigate] = usePageState()
  const [key, setKey] = useState<string | null>(null)
  const [isRefused, setRefused] = useState(false)
  const asksForKey = isRefused || (needsKey && key === null)
  const client = useMemo(() => (asksForKey ? null : createGatewayClient(key)), [key, asksForKey])
  const lists = useMemo(() => new ListCache(), [client])
  const [changes, change] = useChanges(client, vaultOf(state))
  const dataState = useGatewayState(client, change)
  const onKeyRefused = (): void => setRefused(true)
  const surroundings = client === null ? null : { client, lists, changes, nowSeconds, onKeyRefused }
  return (
    <NavigateContext.Provider value={navigate}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <SurroundingsContext.Provider value={surroundings}>
        <header class="page">
          <span class="brand">
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M3 12a9 9 0 1 0 18 0a9 9 0 1 0 -18 0M7 13.5l3 -3l3 2.5l4 -4.5" />
            </svg>
            vault-gateway
          </span>
          <nav aria-label="Views">
            <PageLink to={allVaults} isCurrent={state.view === 'vaults'}>
              Vaults
            </PageLink>
            <PageLink to={{ view: 'strategies' }} isCurrent={state.view === 'strategies'}>
              Strategies
            </PageLink>
            <PageLink to={wholeUniverse} isCurrent={state.view === 'universe'}>
              Universe
            </PageLink>
          </nav>
          {surroundings !== null && <StatusLine state={dataState} />}
          <ThemeSwitch />
        </header>
        <main id="main" tabIndex={-1}>
          {surroundings === null ? (
            <KeyForm
              wasRefused={isRefused}
              onKey={(given) => {
                setKey(given)
                setRefused(false)
              }}
            />
          ) : (
            <View state={state} />
          )}
        </main>
      </SurroundingsContext.Provider>
      <footer class="page">
        <nav aria-label="Documentation">
          <a href="graphql">GraphiQL</a>
          <a href="docs">REST documentation</a>
          <a href="openapi.json">OpenAPI</a>
        </nav>
      </footer>
    </NavigateContext.Provider>
  )
}

/** Returns the vault whose changes affect the page; null where all changes do. */
function vaultOf(state: PageState): string | null {
  return state.view === 'vault' && isAddressText(state.address) ? state.address : null
}

function View({ state }: { readonly state: PageState }) {
  switch (state.view) {
    case 'vaults':
      return <VaultsView state={state} />
    case 'vault':
      return <VaultView key={state.address} state={state} />
    case 'strategies':
      return <StrategiesView />
    case 'universe':
      return <UniverseView state={state} />
  }
}
