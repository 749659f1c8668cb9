import type { PreparedDocument } from '../../../graphql/execution/operation-cache.ts'
import { Budget } from '../../../fairness/budget.ts'

/** A document that open streams use. */
interface StreamDocument {
  /** Null once it is not stored any longer: its open streams still refer to this object. */
  prepared: PreparedDocument | null
  /** The sender of its first stream, which its memory is counted for. */
  readonly chargedSender: string
  /** Memory that is counted for it. */
  bytes: number
  streams: number
}

/**
 * The prepared documents of open subscriptions, by text: those of equal texts share one. The operation cache may evict a document
 * while its streams wait for a commit; thousands would then be prepared again at the same time, for each commit. A document
 * grows when its operations are compiled, for streams and other requests.
 */
export class StreamDocuments {
  readonly #byText = new Map<string, StreamDocument>()
  readonly #bytes: Budget

  /** @param maxBytes memory of all documents; a sender has a fair share of it */
  constructor(maxBytes: number) {
    this.#bytes = new Budget(maxBytes)
  }

  /** Returns the document of open streams; undefined if there is none of this text. */
  get(text: string): PreparedDocument | undefined {
    return this.#byText.get(text)?.prepared ?? undefined
  }

  /**
   * Stores the document of a sender's stream.
   * @returns a function that releases it, to be called once; null if it exceeds the sender's share
   */
  keep(sender: string, prepared: PreparedDocument): (() => void) | null {
    const known = this.#byText.get(prepared.text)
    if (known === undefined && !this.#bytes.take(sender, prepared.bytes)) return null
    const document = known ?? this.#add(sender, prepared)
    document.streams++
    return () => {
      if (--document.streams === 0) this.#remove(document)
    }
  }

  #add(chargedSender: string, prepared: PreparedDocument): StreamDocument {
    const document: StreamDocument = { prepared, chargedSender, bytes: prepared.bytes, streams: 0 }
    prepared.onGrown = () => this.#weigh(document, prepared.bytes)
    this.#byText.set(prepared.text, document)
    return document
  }

  /**
   * Counts the memory of a document again. One that has outgrown the share of its sender is not stored any longer: its streams
   * use the operation cache.
   */
  #weigh(document: StreamDocument, bytes: number): void {
    if (!this.#bytes.take(document.chargedSender, bytes - document.bytes)) return this.#remove(document)
    document.bytes = bytes
  }

  #remove(document: StreamDocument): void {
    const { prepared, chargedSender, bytes } = document
    if (prepared === null) return
    this.#byText.delete(prepared.text)
    this.#bytes.giveBack(chargedSender, bytes)
    prepared.onGrown = null
    document.prepared = null
  }
}
