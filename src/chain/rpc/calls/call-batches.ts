import type { ContractCall } from './contract-call.ts'

/**
 * Maximum calls in one request. They take 5,000 to 10,000 gas each, since contracts stay warm within a request, and have
 * to fit the 50 million that most nodes grant it; those of 2,000 calls are a megabyte of JSON.
 */
const maxCalls = 2_000

interface PendingCall {
  readonly call: ContractCall<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Batch scheduler of calls. Those of one event-loop turn are sent together, and those that are made until all of them
 * are answered are sent next, so that the number of requests doesn't depend on the order in which a node answers.
 */
export class CallBatches {
  #waiting: PendingCall[] = []
  #isSending = false

  /** @param readAll reads calls by one request, and returns their values in the same order */
  constructor(readonly readAll: (calls: readonly ContractCall<unknown>[]) => Promise<readonly unknown[]>) {}

  read(call: ContractCall<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject })
      if (!this.#isSending) this.#sendSoon()
    })
  }

  #sendSoon(): void {
    this.#isSending = true
    setImmediate(() => void this.#send())
  }

  async #send(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    const requests: Promise<void>[] = []
    for (let from = 0; from < waiting.length; from += maxCalls) {
      requests.push(this.#settle(waiting.slice(from, from + maxCalls)))
    }
    await Promise.all(requests)
    this.#isSending = false
    if (this.#waiting.length > 0) this.#sendSoon()
  }

  async #settle(some: readonly PendingCall[]): Promise<void> {
    try {
      const values = await this.readAll(some.map(({ call }) => call))
      some.forEach(({ resolve }, index) => resolve(values[index]))
    } catch (error) {
      some.forEach(({ reject }) => reject(error))
    }
  }
}
