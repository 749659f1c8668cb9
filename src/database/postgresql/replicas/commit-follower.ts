import type { ChangeListener, CommitReports } from '../../commits/change-listener.ts'
import type { ReadServer } from './read-server.ts'
import type { ReportedState } from './reported-state.ts'

/** Reports the commits of the server that is currently read from to a listener. */
export class CommitFollower {
  readonly #listener: ChangeListener
  readonly #reported: ReportedState
  /** Reports of the current server, or of the one that was left last; null before the first. */
  #reports: CommitReports | null = null
  #isListening = false
  /** Counts the servers, to ignore later reports of an earlier one. */
  #servers = 0

  constructor(listener: ChangeListener, reported: ReportedState) {
    this.#listener = listener
    this.#reported = reported
  }

  /** Reports the commits of a server from now on. */
  follow(server: ReadServer): void {
    const { replica } = server
    const number = ++this.#servers
    const listener = this.#listener
    const isCurrent = (): boolean => number === this.#servers
    this.#reports = server.listen({
      committed: (commit) => {
        if (!isCurrent()) return
        this.#reported.committed(commit.version, replica.followedRun)
        listener.committed(commit)
      },
      listening: (isListening) => {
        if (!isCurrent()) return
        this.#isListening = isListening
        listener.listening(isListening)
      },
      upToDate: (sentAt) => {
        if (!isCurrent()) return
        const provenAt = this.#reported.proven(replica.proof.provenBefore(sentAt))
        if (provenAt !== null) listener.upToDate(provenAt)
      },
    })
  }

  pollSoon(): void {
    this.#reports?.pollSoon()
  }

  /**
   * Stops reporting commits of the current server; caches are emptied immediately, even where it does not answer.
   * @returns resolves when its connection is closed
   */
  leave(): Promise<void> {
    this.#servers++
    if (this.#isListening) this.#listener.listening(false)
    this.#isListening = false
    return this.#reports?.stop() ?? Promise.resolve()
  }
}
