import type { FeedConditions } from '../feed-conditions.ts'

/** What the primary says to a worker. */
export type ToWorker =
  | { readonly kind: 'feeds'; readonly conditions: FeedConditions }
  | { readonly kind: 'stop' }
  /** Asks for the worker's own metrics. */
  | { readonly kind: 'own metrics?'; readonly id: number }
  | { readonly kind: 'all metrics'; readonly id: number; readonly text: string }

/** What a worker says to the primary. */
export type ToPrimary =
  /** It hears from now on. */
  | { readonly kind: 'here' }
  | { readonly kind: 'own metrics'; readonly id: number; readonly text: string }
  /** Asks for the metrics of all. */
  | { readonly kind: 'all metrics?'; readonly id: number }

/** Questions to other processes, each of which is answered under its number, or not in time. */
export interface IpcQuestions {
  /** @returns null where no answer comes in time */
  ask(put: (id: number) => void): Promise<string | null>
  answer(id: number, text: string): void
}

/** @param milliseconds that an answer may take */
export function createIpcQuestions(milliseconds: number): IpcQuestions {
  const waiting = new Map<number, (text: string | null) => void>()
  let last = 0
  const answer = (id: number, text: string | null): void => {
    waiting.get(id)?.(text)
    waiting.delete(id)
  }
  return {
    ask(put) {
      const id = ++last
      const late = setTimeout(() => answer(id, null), milliseconds)
      const answered = new Promise<string | null>((resolve) => waiting.set(id, resolve))
      put(id)
      return answered.finally(() => clearTimeout(late))
    },
    answer,
  }
}
