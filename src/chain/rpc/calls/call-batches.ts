import type { ContractCall } from './contract-call.ts'

/**
 * Maximum calls in one request: 2,000 calls are a megabyte of JSON. A call takes 5,000 to 10,000 gas, since contracts
 * stay warm within a request, and most nodes grant a request 50 million.
 */
const maxCalls = 2_000

interface PendingCall {
  readonly call: ContractCall<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Batch scheduler of calls. Calls of one event-loop iteration are sent together; calls that arrive before all are answered
 * form the next batch, so that the number of requests does not depend on the order of responses.
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
