import type { Address } from '../domain/address.ts'

/** Base class of errors that stop the reader: an operator must act, a retry does not help. */
export abstract class ChainError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** A chain configuration file with problems, one on each line of the message. */
export class BadChainConfig extends ChainError {
  constructor(
    readonly file: string,
    readonly problems: readonly string[],
  ) {
    super(`${file} can't be used:\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
}

/** A node that serves a different chain than the configuration names. */
export class WrongChain extends ChainError {
  constructor(
    readonly node: string,
    readonly found: number,
    readonly wanted: number,
  ) {
    super(`The node ${node} is of chain ${found}, and the configuration's chainId is ${wanted}`)
  }
}

/** A reorganisation deeper than the configured finality: facts since that block may be wrong. */
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

/** A contract that does not conform to the standard that the configuration implies. */
export class ContractMismatch extends ChainError {
  constructor(
    readonly address: string,
    readonly block: number,
    readonly problem: string,
    /** The vault that needs the contract; absent where the caller knows it, or several vaults need it. */
    readonly vault?: Address,
  ) {
    super(`${address} ${problem} at block ${block}`)
  }
}

/** Contracts of several vaults that cannot be read for the same reason: the vaults are set aside together. */
export class SeveralMismatches extends ChainError {
  constructor(readonly mismatches: readonly ContractMismatch[]) {
    super(mismatches.map(({ message }) => message).join('; '))
  }
}

/** A token in a vault that has no USD price. */
export class PriceUnavailable extends ChainError {
  constructor(
    readonly symbol: string,
    readonly block: number,
    readonly reason: string,
  ) {
    super(`${symbol} has no price at block ${block}: ${reason}`)
  }
}

/** A token in a vault whose USD price is too old, or too far from its second source. */
export class PriceRefused extends PriceUnavailable {}

/** A price at which an amount exceeds the greatest USD value of a fact: either the price or the amount is absurd. */
export class WorthRefused extends PriceRefused {
  constructor(
    symbol: string,
    block: number,
    reason: string,
    /** The amount that contributes most to the value, in the token's smallest units. */
    readonly amount: { readonly token: Address; readonly units: bigint },
  ) {
    super(symbol, block, reason)
  }
}

/** A vault's fact that the feed has refused: it breaks a rule across several facts, or contradicts a stored fact. */
export class FactRefused extends ChainError {
  constructor(
    readonly vault: Address,
    readonly reason: string,
  ) {
    super(`A fact of ${vault} was refused: ${reason}`)
  }
}

/** All vaults are set aside: nothing is left to read. The message lists one reason per line. */
export class NoVaultLeft extends ChainError {
  constructor(readonly reasons: readonly string[]) {
    super(`None of the vaults can be read:\n${reasons.map((reason) => `  ${reason}`).join('\n')}`)
  }
}

/** Vaults that were set aside while the others were read to the end. The message lists one reason per line. */
export class VaultsLeftOut extends ChainError {
  constructor(readonly reasons: readonly string[]) {
    super(`Vaults were set aside, and their facts are left out:\n${reasons.map((reason) => `  ${reason}`).join('\n')}`)
  }
}

/** Logs that contradict the contracts even after repeated reads, of the chain or of one vault. */
export class LogsIncomplete extends ChainError {
  constructor(problem: string) {
    super(
      `Answers of the nodes lack logs or contradict each other, or a contract does not log all that it does: ${problem}`,
    )
  }
}

/** Nodes that answer with permanent errors. */
export class ChainUnreadable extends ChainError {
  constructor(problems: string, seconds: number) {
    super(`The chain couldn't be read for ${seconds} s: ${problems}`)
  }
}

/** Data of the chain in a form that cannot be decoded. */
export class Undecodable extends ChainError {
  constructor(problem: string, options: ErrorOptions) {
    super(`The chain holds data that can't be decoded: ${problem}`, options)
  }
}

/** Logs and contract state that disagree: the reader reads everything after the last facts again. */
export class Contradiction extends Error {
  constructor(
    message: string,
    /** The vault concerned; absent where the contradiction does not concern a single vault. */
    readonly vault?: Address,
  ) {
    super(message)
    this.name = new.target.name
  }
}

/** A block that is missing below one that a node has wrongly named as final, which is requested again. */
export class FinalBlockMissing extends Contradiction {
  constructor(readonly block: number) {
    super(`block ${block} was final, and isn't there`)
  }
}

/** An invalid or missing response of a node: the request is retried at another node, or later at the same one. */
export class NodeFault extends Error {
  constructor(
    message: string,
    /** Whether the node has another block than others in place of one that was read. */
    readonly isOnOtherFork = false,
  ) {
    super(message)
    this.name = 'NodeFault'
  }
}

/** A node that has no block with the tag `finalized`, because it does not know the tag or is not in sync. */
export class NoFinalizedBlock extends NodeFault {
  constructor() {
    super('gave null for the block "finalized"')
  }
}

/** A request that a node did not answer with a result; the cause is the client's error. */
export class RequestFailed extends Error {
  constructor(
    readonly method: string,
    readonly params: readonly unknown[],
    options: ErrorOptions,
  ) {
    super(`${method} failed`, options)
    this.name = 'RequestFailed'
  }

  /** Whether the request identifies its block by a hash. */
  get usesBlockHash(): boolean {
    return this.params.some((param) => typeof param === 'object' && param !== null && 'blockHash' in param)
  }

  /** Whether the request is for the block with the tag `finalized`. */
  get usesFinalized(): boolean {
    return this.params.includes('finalized')
  }
}

/**
 * A call that takes a node too long, which answers others at the same block. The cause is the error of the request, which
 * tells whether such a fault passes.
 */
export class CallTooSlow extends Error {
  constructor(called: string, contract: string, block: number, options: ErrorOptions) {
    super(
      `takes too long to answer ${called}() of ${contract} at block ${block}, and answers other calls there`,
      options,
    )
    this.name = 'CallTooSlow'
  }
}

/** A node that has requested a pause with Retry-After. */
export class NodeResting extends Error {
  constructor(readonly milliseconds: number) {
    super(`asks for a rest of ${Math.ceil(milliseconds / 1_000)} s`)
    this.name = 'NodeResting'
  }
}
