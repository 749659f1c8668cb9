import type { PreparedDocument } from '../../../graphql/execution/operation-cache.ts'
import { Budget } from '../../server/capacity/budget.ts'

/** A document that open streams use. */
interface StreamDocument {
  readonly prepared: PreparedDocument
  /** The sender of its first stream, which its memory is counted for. */
  readonly chargedSender: string
  /** Memory that is counted for it. */
  bytes: number
  streams: number
}

/**
 * The prepared documents of open subscriptions, by text: those of equal texts share one. The operation cache may evict a document
 * while its streams wait for a commit; thousands would then be prepared again at the same time, for each commit.
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
    return this.#byText.get(text)?.prepared
  }

  /**
   * Stores the document of a sender's stream.
   * @returns a function that releases it, to be called once; null if it exceeds the sender's share
   */
  keep(sender: string, prepared: PreparedDocument): (() => void) | null {
    const { text, bytes } = prepared
    const known = this.#byText.get(text)
    if (known === undefined && !this.#bytes.take(sender, bytes)) return null
    const document = known ?? { prepared, chargedSender: sender, bytes, streams: 0 }
    document.streams++
    this.#byText.set(text, document)
    return () => {
      if (--document.streams > 0) return
      this.#byText.delete(text)
      this.#bytes.giveBack(document.chargedSender, document.bytes)
    }
  }

  /** Counts the memory of a document again, which grows when its operations are compiled. */
  weigh({ text, bytes }: PreparedDocument): void {
    const document = this.#byText.get(text)
    if (document === undefined) return
    this.#bytes.add(document.chargedSender, bytes - document.bytes)
    document.bytes = bytes
  }
}
