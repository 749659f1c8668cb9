import { CombinedError } from '@urql/core'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
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
  /** Returns all data of the panel for a download, including data that is not shown; null while there is none. */
  readonly csv: (() => CsvTable | Promise<CsvTable>) | null
  /** Name of the downloaded file, without its extension. */
  readonly file: string
  readonly children: ComponentChildren
}

/** A part of a view: heading, data, a link to the query, and a download. */
export function Panel({ title, document: source, variables, state, csv, file, children }: PanelProps) {
  const id = `panel-${title.toLowerCase().replaceAll(' ', '-')}`
  const [saving, save] = useSaving()
  return (
    <section class="panel" aria-labelledby={id} aria-busy={state.isPending}>
      <header>
        <h2 id={id}>{title}</h2>
        <div class="actions">
          <a class="action" href={graphiqlLink(source.toString(), variables)} aria-label={`Open ${title} in GraphiQL`}>
            GraphiQL
          </a>
          <button
            type="button"
            disabled={csv === null || saving.isRunning}
            onClick={() => csv !== null && save(`${file}.csv`, csv)}
            aria-label={`Download ${title} as CSV`}
          >
            {saving.isRunning ? 'CSV…' : 'CSV'}
          </button>
        </div>
      </header>
      {saving.problem !== null && (
        <p role="alert" class="problem">
          {saving.problem}
        </p>
      )}
      <QueryNote state={state} />
      {children}
    </section>
  )
}

/** Shows that data is being loaded, or why loading failed. */
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

interface Saving {
  readonly isRunning: boolean
  /** Why the last download failed; null where it succeeded. */
  readonly problem: string | null
}

/** Returns the state of a download, and a function that saves a table as a file. */
function useSaving(): [Saving, (name: string, csv: NonNullable<PanelProps['csv']>) => void] {
  const [saving, setSaving] = useState<Saving>({ isRunning: false, problem: null })
  const run = async (name: string, csv: NonNullable<PanelProps['csv']>): Promise<void> => {
    setSaving({ isRunning: true, problem: null })
    try {
      download(name, csvText(await csv()))
      setSaving({ isRunning: false, problem: null })
    } catch (error) {
      const reason = error instanceof CombinedError ? queryProblem(error) : String(error)
      setSaving({ isRunning: false, problem: `The download has failed: ${reason}` })
    }
  }
  return [saving, (name, csv) => void run(name, csv)]
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
