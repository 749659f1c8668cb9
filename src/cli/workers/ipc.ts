import type { FeedConditions } from '../feed-conditions.ts'

/** Messages from the primary process to a worker. */
export type ToWorker =
  | { readonly kind: 'feeds'; readonly conditions: FeedConditions }
  | { readonly kind: 'stop' }
  | { readonly kind: 'own metrics?'; readonly id: number }
  | { readonly kind: 'all metrics'; readonly id: number; readonly text: string }

/** Messages from a worker to the primary process. */
export type ToPrimary =
  | { readonly kind: 'here' }
  | { readonly kind: 'own metrics'; readonly id: number; readonly text: string }
  | { readonly kind: 'all metrics?'; readonly id: number }

/** Matches answers from other processes to requests by their ids. */
export interface IpcQuestions {
  /**
   * Sends a request with a new id.
   * @returns the answer; null on a timeout
   */
  ask(send: (id: number) => void): Promise<string | null>
  answer(id: number, text: string): void
}

/**
 * Creates a registry of requests.
 * @param milliseconds timeout of an answer
 */
export function createIpcQuestions(milliseconds: number): IpcQuestions {
  const waiting = new Map<number, (text: string | null) => void>()
  let last = 0
  const answer = (id: number, text: string | null): void => {
    waiting.get(id)?.(text)
    waiting.delete(id)
  }
  return {
    ask(send) {
      const id = ++last
      const late = setTimeout(() => answer(id, null), milliseconds)
      const answered = new Promise<string | null>((resolve) => waiting.set(id, resolve))
      send(id)
      return answered.finally(() => clearTimeout(late))
    },
    answer,
  }
}
