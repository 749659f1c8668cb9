import { CombinedError } from '@urql/core'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { StrategyNamesQuery } from '../documents.generated.ts'
import { queryProblem, type QueryResult } from '../data/gateway-client.ts'
import { useSurroundings } from '../data/hooks.ts'
import { searchTarget } from '../data/search-target.ts'
import { searchVaults, type SearchResult } from '../data/vault-search.ts'
import { NavigateContext, PageLink } from './page-link.tsx'
import { textOf } from './text-of.ts'

/** Maximum number of listed hits. */
const maxHits = 8
const nothing: SearchResult = { hits: [], note: '' }

/** Opens the vault or strategy that matches a search, or lists several matches. */
export function SearchForm({ strategies }: { readonly strategies: QueryResult<StrategyNamesQuery> }) {
  const navigate = useContext(NavigateContext)
  const { client } = useSurroundings()
  const [{ hits, note }, show] = useState(nothing)
  // Incremented at each search and on unmount, so that results of earlier searches are ignored.
  const searches = useRef(0)
  useEffect(() => () => void searches.current++, [])
  const search = async (text: string): Promise<void> => {
    const number = ++searches.current
    show({ hits: [], note: 'Searching…' })
    const result = await resultOf(searchVaults(client, searchTarget(text, location.href), strategies))
    if (number !== searches.current) return
    const [hit, ...others] = result.hits
    show(others.length === 0 && hit !== undefined ? nothing : result)
    if (others.length === 0 && hit !== undefined) navigate(hit.to)
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
          {hits.slice(0, maxHits).map(({ to, name, kind }) => (
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

/** Returns the result of a search, with the reason of a failure as its note. */
async function resultOf(search: Promise<SearchResult>): Promise<SearchResult> {
  try {
    return await search
  } catch (error) {
    return { hits: [], note: error instanceof CombinedError ? queryProblem(error) : String(error) }
  }
}
