import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { createGatewayClient } from './data/gateway-client.ts'
import { SurroundingsContext, useChanges, useDataState } from './data/hooks.ts'
import { allVaults, hrefOf, type PageState, readPageState, wholeUniverse } from './page-state.ts'
import { KeyForm } from './panels/key-form.tsx'
import { NavigateContext, PageLink } from './panels/page-link.tsx'
import { StatusLine } from './panels/status-line.tsx'
import { ThemeSwitch } from './panels/theme-switch.tsx'
import { shortAddress } from './panels/values.tsx'
import { StrategiesView } from './views/strategies.tsx'
import { UniverseView } from './views/universe.tsx'
import { VaultView } from './views/vault.tsx'
import { VaultsView } from './views/vaults.tsx'

export interface ExplorerProps {
  readonly nowSeconds: () => number
  readonly needsKey: boolean
}

/** The explorer: its navigation, the state of the data, and the view that the address asks for. */
export function Explorer({ nowSeconds, needsKey }: ExplorerProps) {
  const [state, navigate] = usePageState()
  const [key, setKey] = useState<string | null>(null)
  const [isRefused, setRefused] = useState(false)
  const asksForKey = isRefused || (needsKey && key === null)
  const client = useMemo(() => (asksForKey ? null : createGatewayClient(key)), [key, asksForKey])
  const [changes, change] = useChanges(client, state.view === 'vault' ? state.address : null)
  const dataState = useDataState(client, change)
  const onKeyRefused = (): void => setRefused(true)
  const surroundings = client === null ? null : { client, changes, nowSeconds, onKeyRefused }
  return (
    <NavigateContext.Provider value={navigate}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <SurroundingsContext.Provider value={surroundings}>
        <header class="page">
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

/** Keeps the state of the page in its address. */
function usePageState(): [PageState, (state: PageState, isStep?: boolean) => void] {
  const [state, setState] = useState(() => readPageState(location.search))
  const isFirst = useRef(true)
  const place = state.view === 'vault' ? state.address : state.view
  useEffect(() => {
    const read = (): void => setState(readPageState(location.search))
    addEventListener('popstate', read)
    return () => removeEventListener('popstate', read)
  }, [])
  useEffect(() => {
    document.title = `${titleOf(state)} – vault-gateway`
    // The first page is at its top, with the focus where the browser has it.
    if (!isFirst.current) document.querySelector<HTMLElement>('main h1')?.focus()
    isFirst.current = false
  }, [place])
  const navigate = (next: PageState, isStep = true): void => {
    if (isStep) history.pushState(null, '', hrefOf(next))
    else history.replaceState(null, '', hrefOf(next))
    setState(next)
  }
  return [state, navigate]
}

function titleOf(state: PageState): string {
  if (state.view === 'vault') return `Vault ${shortAddress(state.address)}`
  return `${state.view.slice(0, 1).toUpperCase()}${state.view.slice(1)}`
}
