import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { hrefOf, type PageState } from '../page-state.ts'

/** Shows another state of the page; with `isStep` false it replaces the current history entry. */
export type Navigate = (state: PageState, isStep?: boolean) => void

export const NavigateContext = createContext<Navigate>(() => undefined)

export interface PageLinkProps {
  readonly to: PageState
  readonly class?: string
  readonly isCurrent?: boolean
  readonly title?: string
  readonly children: ComponentChildren
}

/** A link to a state of the page, which can be copied and opened elsewhere. */
export function PageLink({ to, isCurrent = false, title, class: name, children }: PageLinkProps) {
  const navigate = useContext(NavigateContext)
  const follow = (event: MouseEvent): void => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(to)
  }
  return (
    <a href={hrefOf(to)} onClick={follow} class={name} title={title} aria-current={isCurrent ? 'page' : undefined}>
      {children}
    </a>
  )
}
