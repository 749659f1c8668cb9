import { otherOrOwn } from '../async/within.ts'
import type { EncodedResponse } from './encoded-response.ts'

/** Registers a callback that runs when the client disconnects before its response. */
export type OnDisconnect = (cancel: () => void) => void

/** Registers a callback that runs when the last client that shares a production has disconnected. */
export type OnAllLeft = (cancel: () => void) => void

export type StartProduction = (onAllLeft: OnAllLeft) => Promise<EncodedResponse>

/**
 * Returns the response of a sender's production, and stores it if it may be cached; called in the iteration of the event loop
 * in which the production starts, so that it sees each later commit.
 */
type StoreWhenReady = (key: string, sender: string, produced: Promise<EncodedResponse>) => Promise<EncodedResponse>

/** A production in progress, shared by one or more clients. */
interface Production {
  readonly sender: string
  readonly response: Promise<EncodedResponse>
  readonly waiting: WaitingClients
}

/** The productions in progress of one key. */
interface ProductionsOfKey {
  /** Each sender joins its own. */
  readonly bySender: Map<string, Production>
  /** The one that other senders join. */
  shared: Production
}

/** The productions in progress, which requests with equal keys share. */
export class Productions {
  readonly #ofKeys = new Map<string, ProductionsOfKey>()
  readonly #storeWhenReady: StoreWhenReady

  constructor(storeWhenReady: StoreWhenReady) {
    this.#storeWhenReady = storeWhenReady
  }

  /** Returns the response of the production of this key: of this sender, of another sender, or of a new one; see {@link otherOrOwn}. */
  join(key: string, sender: string, onDisconnect: OnDisconnect, start: StartProduction): Promise<EncodedResponse> {
    const ofKey = this.#ofKeys.get(key)
    const own = ofKey?.bySender.get(sender)
    if (ofKey !== undefined && own === undefined) return this.#joinOther(ofKey.shared, key, sender, onDisconnect, start)
    const production = own ?? this.#start(key, sender, start)
    production.waiting.join(onDisconnect)
    return production.response
  }

  /** Stops sharing the productions in progress: later requests start their own. */
  clear(): void {
    this.#ofKeys.clear()
  }

  async #joinOther(
    other: Production,
    key: string,
    sender: string,
    onDisconnect: OnDisconnect,
    start: StartProduction,
  ): Promise<EncodedResponse> {
    const leaveOther = other.waiting.join(onDisconnect)
    let leaveOwn = (): void => undefined
    try {
      return await otherOrOwn(other.response.then(requireServed), () => {
        const own = this.#ofKeys.get(key)?.bySender.get(sender) ?? this.#start(key, sender, start)
        leaveOwn = own.waiting.join(onDisconnect)
        return own.response
      })
    } finally {
      leaveOther()
      leaveOwn()
    }
  }

  #start(key: string, sender: string, start: StartProduction): Production {
    const close = (): void => this.#remove(key, production)
    const waiting = new WaitingClients()
    const produced = start((cancel) => {
      waiting.cancel = () => {
        close()
        cancel()
      }
    })
    const production = { sender, response: this.#storeWhenReady(key, sender, produced).finally(close), waiting }
    const ofKey = this.#ofKeys.get(key) ?? { bySender: new Map<string, Production>(), shared: production }
    ofKey.bySender.set(sender, production)
    ofKey.shared = production
    this.#ofKeys.set(key, ofKey)
    return production
  }

  #remove(key: string, production: Production): void {
    const ofKey = this.#ofKeys.get(key)
    // After a change others may have started.
    if (ofKey?.bySender.get(production.sender) !== production) return
    ofKey.bySender.delete(production.sender)
    const [oldest] = ofKey.bySender.values()
    if (oldest === undefined) this.#ofKeys.delete(key)
    else if (ofKey.shared === production) ofKey.shared = oldest
  }
}

/** @throws where the response is a refusal or an error, which concerns the sender that started its production */
function requireServed(response: EncodedResponse): EncodedResponse {
  if (response.status < 500) return response
  throw new Error('the production of another sender failed')
}

/** The clients that wait for one response: production is cancelled when the last of them leaves. */
class WaitingClients {
  /** Cancels the production. */
  cancel: () => void = () => undefined
  #count = 0

  /** @returns a function that ends the wait of this client, as its disconnection does */
  join(onDisconnect: OnDisconnect): () => void {
    let waits = true
    const leave = (): void => {
      if (!waits) return
      waits = false
      if (--this.#count === 0) this.cancel()
    }
    this.#count++
    onDisconnect(leave)
    return leave
  }
}
