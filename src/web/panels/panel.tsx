import type { ComponentChildren } from 'preact'
import { csvText, type CsvTable } from '../data/csv.ts'
import { graphiqlLink } from '../data/graphiql-link.ts'
import { queryProblem } from '../data/gateway-client.ts'
import type { QueryState } from '../data/hooks.ts'

export interface PanelProps {
  readonly title: string
  /** The query that the panel shows, for GraphiQL. */
  readonly document: { toString(): string }
  readonly variables: Readonly<Record<string, unknown>>
  readonly state: QueryState<unknown>
  /** The panel's data, for a download; null while there is none. */
  readonly csv: (() => CsvTable) | null
  /** Name of the downloaded file, without its ending. */
  readonly file: string
  readonly children: ComponentChildren
}

/** A part of a view: its heading, its data, the query behind it and a download. */
export function Panel({ title, document: source, variables, state, csv, file, children }: PanelProps) {
  const id = `panel-${title.toLowerCase().replaceAll(' ', '-')}`
  return (
    <section class="panel" aria-labelledby={id} aria-busy={state.isPending}>
      <header>
        <h2 id={id}>{title}</h2>
        <a href={graphiqlLink(source.toString(), variables)} aria-label={`Open ${title} in GraphiQL`}>
          GraphiQL
        </a>
        <button
          type="button"
          disabled={csv === null}
          onClick={() => csv !== null && download(`${file}.csv`, csvText(csv()))}
          aria-label={`Download ${title} as CSV`}
        >
          CSV
        </button>
      </header>
      <QueryNote state={state} />
      {children}
    </section>
  )
}

/** Says that data is loaded, or why it is not. */
export function QueryNote({ state: { data, error, isPending } }: { readonly state: QueryState<unknown> }) {
  if (error !== undefined) {
    return (
      <p role="alert" class="problem">
        {queryProblem(error)}
      </p>
    )
  }
  return data === undefined && isPending ? <p role="status">Loading…</p> : null
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
