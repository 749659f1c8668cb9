import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { hrefOf, type PageState, readPageState } from './page-state.ts'
import { type Navigate } from './panels/page-link.tsx'
import { shortAddress } from './panels/values.tsx'

/** The part of a history entry that is not in its address: the scroll position at which the page was left. */
interface Entry {
  readonly scrollY: number
}

/** The scroll position and focus to set after a render; going back restores those at which the page was left. */
interface Arrival {
  readonly scrollY: number
  /** Whether the view or the vault differs from the one before. */
  readonly isElsewhere: boolean
  /** The address of the page that was left by going back; null after a step forward. */
  readonly from: string | null
}

/** Stores the state of the page in its address, and scroll positions in the history. */
export function usePageState(): [PageState, Navigate] {
  const [state, setState] = useState(() => readPageState(location.search))
  const arrival = useRef<Arrival | null>(null)
  const place = placeOf(state)
  const shown = useRef(state)
  shown.current = state
  useEffect(() => {
    history.scrollRestoration = 'manual'
    const read = ({ state: entry }: PopStateEvent): void => {
      const next = readPageState(location.search)
      const isElsewhere = placeOf(next) !== placeOf(shown.current)
      arrival.current = { scrollY: (entry as Entry | null)?.scrollY ?? 0, isElsewhere, from: hrefOf(shown.current) }
      setState(next)
    }
    const keepPlace = (): void => history.replaceState({ scrollY } satisfies Entry, '')
    addEventListener('popstate', read)
    addEventListener('scrollend', keepPlace)
    return () => {
      removeEventListener('popstate', read)
      removeEventListener('scrollend', keepPlace)
    }
  }, [])
  useEffect(() => {
    document.title = `${titleOf(state)} – vault-gateway`
  }, [place])
  useLayoutEffect(() => {
    // The first page stays at its top, with the browser's default focus.
    if (arrival.current !== null) arriveAt(arrival.current)
    arrival.current = null
  }, [state])
  const navigate = (next: PageState, isStep = true): void => {
    if (isStep) {
      history.replaceState({ scrollY } satisfies Entry, '')
      history.pushState(null, '', hrefOf(next))
      if (placeOf(next) !== place) arrival.current = { scrollY: 0, isElsewhere: true, from: null }
    } else history.replaceState(history.state, '', hrefOf(next))
    setState(next)
  }
  return [state, navigate]
}

/** Scrolls the page, and focuses its heading, or after going back the link to the page that was left. */
function arriveAt({ scrollY, isElsewhere, from }: Arrival): void {
  window.scrollTo({ top: scrollY, behavior: 'instant' })
  if (!isElsewhere) return
  focusOn('main h1')
  // The virtual rows at this position are rendered after the page has scrolled.
  if (from !== null) requestAnimationFrame(() => focusOn(`main a[href="${CSS.escape(from)}"]`))
}

function focusOn(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true })
}

/** Returns the view or vault of a state, regardless of filters. */
function placeOf(state: PageState): string {
  return state.view === 'vault' ? state.address : state.view
}

function titleOf(state: PageState): string {
  if (state.view === 'vault') return `Vault ${shortAddress(state.address)}`
  return `${state.view.slice(0, 1).toUpperCase()}${state.view.slice(1)}`
}
