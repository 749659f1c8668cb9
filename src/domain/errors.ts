/**
 * Base class of errors for input that breaks a rule of the domain: `key` names the input, the message says what is
 * wrong.
 */
export abstract class DomainError extends Error {
  constructor(
    /** Key of the fact, or argument of the query, as written by the client. */
    readonly key: string,
    message: string,
  ) {
    // A query may have hundreds of errors: their unused stack traces would take longer than the query.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = new.target.name
  }
}

/** Returns a value as it was given, in JSON and shortened; JSON has no numbers such as Infinity, which 1e400 is read as. */
function shown(value: unknown): string {
  return (typeof value === 'number' ? String(value) : JSON.stringify(value)).slice(0, 80)
}

/** A value that is not an EVM address. */
export class InvalidAddress extends DomainError {
  constructor(value: unknown, flaw: string) {
    const told = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : shown(value)
    super('address', `${told} is not an address: ${flaw}`)
  }
}

/** A value that is not a time in Unix seconds. */
export class InvalidTime extends DomainError {
  constructor(value: unknown, latest: number) {
    super('time', `${shown(value)} is not a time in Unix seconds, a whole number from 0 to ${latest}`)
  }
}

/** A moment of a vault from before the stored history. */
export class HistoryNotKept extends Error {
  /** @param historySince start of the stored history, in Unix seconds */
  constructor(
    readonly vault: string,
    readonly at: number,
    readonly historySince: number,
  ) {
    super(`The state of ${vault} is kept from ${historySince} on, and not that of ${at}.`)
    this.name = new.target.name
  }
}

/** A value that is not an amount in USD. */
export class InvalidAmount extends DomainError {
  constructor(value: unknown) {
    super('amount', `${shown(value)} is not an amount in USD, with up to 6 decimals and 32 digits before them`)
  }
}

/** A query argument that is out of range or contradicts another argument. */
export class InvalidArgument extends DomainError {
  constructor(argument: string, flaw: string) {
    super(argument, `${argument} ${flaw}`)
  }
}

/** A deposit whose amount differs from the value of its assets at its prices. */
export class AmountMismatch extends DomainError {
  constructor(
    readonly amountUsd: string,
    readonly assetsUsd: string,
  ) {
    super('amountUsd', `is ${amountUsd}, but the assets at these prices are worth ${assetsUsd}`)
  }
}

/** A withdrawal of more than the vault's value. */
export class WithdrawalOverValue extends DomainError {
  constructor(
    readonly amountUsd: string,
    readonly valueBeforeUsd: string,
  ) {
    super('amountUsd', `is ${amountUsd}, more than the ${valueBeforeUsd} the vault holds`)
  }
}

/** A valuation without the price of a deposited asset. */
export class PriceMissing extends DomainError {
  constructor(readonly symbol: string) {
    super(`prices.${symbol}`, `is missing: the vault's deposits have brought in ${symbol}`)
  }
}

/** A fact that would take a value of its vault beyond the digits that can be stored. */
export class FigureTooLarge extends DomainError {
  constructor(
    key: string,
    readonly figure: string,
    readonly amount: string,
    readonly digits: number,
  ) {
    super(key, `would take ${figure} to ${amount}, which has more than ${digits} digits before the point`)
  }
}
