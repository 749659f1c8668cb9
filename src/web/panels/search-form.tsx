import { CombinedError } from '@urql/core'
import { useContext, useState } from 'preact/hooks'
import { queryProblem } from '../data/gateway-client.ts'
import { useSurroundings } from '../data/hooks.ts'
import { searchTarget } from '../data/search-target.ts'
import { type NamedStrategy, searchVaults, type SearchResult } from '../data/vault-search.ts'
import { NavigateContext, PageLink } from './page-link.tsx'
import { textOf } from './text-of.ts'

/** Most hits that are listed. */
const mostHits = 8
const nothing: SearchResult = { hits: [], note: '' }

/** Leads to a vault or a strategy, or lists those that match. */
export function SearchForm({ strategies }: { readonly strategies: readonly NamedStrategy[] }) {
  const navigate = useContext(NavigateContext)
  const { client } = useSurroundings()
  const [{ hits, note }, show] = useState(nothing)
  const search = async (text: string): Promise<void> => {
    show({ hits: [], note: 'Searching…' })
    try {
      const result = await searchVaults(client, searchTarget(text, location.href), strategies)
      const [hit, ...others] = result.hits
      show(others.length === 0 && hit !== undefined ? nothing : result)
      if (others.length === 0 && hit !== undefined) navigate(hit.to)
    } catch (error) {
      show({ hits: [], note: error instanceof CombinedError ? queryProblem(error) : String(error) })
    }
  }
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const text = textOf(event.currentTarget as HTMLFormElement, 'search')
    if (text !== '') void search(text)
  }
  return (
    <form role="search" onSubmit={submit}>
      <label class="field">
        <span>Vault, owner or strategy</span>
        <input
          name="search"
          type="search"
          placeholder="an address, how it begins, a name or a link"
          spellcheck={false}
          autocomplete="off"
        />
      </label>
      <button type="submit">Search</button>
      <p role="status">{note}</p>
      {hits.length > 0 && (
        <ul class="hits" aria-label="Hits">
          {hits.slice(0, mostHits).map(({ to, name, kind }) => (
            <li key={`${kind} ${name}`}>
              <PageLink to={to} class={kind === 'strategy' ? '' : 'address'}>
                {name}
              </PageLink>{' '}
              <span class="faint">{kind}</span>
            </li>
          ))}
        </ul>
      )}
    </form>
  )
}
