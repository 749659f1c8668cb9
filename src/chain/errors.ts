/** What stops the reader: nothing but a person can mend it, so it is never tried again. */
export abstract class ChainError extends Error {
  constructor(message: string) {
    super(message)
    this.name = new.target.name
  }
}

/** Everything that is wrong with chain.json, a line each. */
export class BadChainConfig extends ChainError {
  constructor(
    readonly file: string,
    readonly problems: readonly string[],
  ) {
    super(`${file} can't be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
}

/** A node of another chain than the configuration is about. */
export class WrongChain extends ChainError {
  constructor(
    readonly node: string,
    readonly found: number,
    readonly wanted: number,
  ) {
    super(`The node ${node} is of chain ${found}, and the configuration's chainId is ${wanted}`)
  }
}

/** A block that was agreed to be final and is so no more: what was told since may not be true. */
export class ChainDiverged extends ChainError {
  constructor(
    readonly block: number,
    readonly hash: string,
    readonly canonicalHash: string,
  ) {
    super(
      `The chain was reorganised deeper than its finality: block ${block} was read as ${hash}, and is ${canonicalHash} ` +
        'now. What was read from it on may not be true: ask for more confirmations, and fill a new database',
    )
  }
}

/** A contract that isn't what the reader's configuration says it is. */
export class UnlikeItsStandard extends ChainError {
  constructor(
    readonly address: string,
    readonly block: number,
    flaw: string,
  ) {
    super(`${address} ${flaw} at block ${block}`)
  }
}

/** A token that a vault holds and that has no USD price. */
export class NoPrice extends ChainError {
  constructor(
    readonly symbol: string,
    readonly block: number,
  ) {
    super(`${symbol} has no price at block ${block}: a pool of its price isn't there or holds nothing yet`)
  }
}

/** Logs that don't account for what the contracts hold, however often they are read. */
export class LogsIncomplete extends ChainError {
  constructor(flaw: string) {
    super(`The nodes leave logs out: ${flaw}`)
  }
}

/** Logs and contracts that say different things: what was read since the last facts is read again. */
export class Contradiction extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Contradiction'
  }
}

/** An answer of a node that can't be believed, or none: another node is asked, or the same one later. */
export class NodeFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'NodeFault'
  }
}
