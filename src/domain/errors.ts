/** A rule of the domain that an input breaks: the key it is about, and what is wrong in words for its sender. */
export abstract class DomainError extends Error {
  constructor(
    /** The key of a fact or the argument of a query, as its sender wrote it. */
    readonly key: string,
    message: string,
  ) {
    super(message)
    this.name = new.target.name
  }
}

export class InvalidAddress extends DomainError {
  constructor(
    readonly text: string,
    readonly flaw: string,
  ) {
    super('address', `${JSON.stringify(text.slice(0, 80))} is not an address: ${flaw}`)
  }
}

/** A value that isn't a time in Unix seconds. */
export class InvalidTime extends DomainError {
  constructor(value: unknown, latest: number) {
    super('time', `${JSON.stringify(value)} is not a time in Unix seconds, a whole number from 0 to ${latest}`)
  }
}

/** An argument of a query that is out of its bounds or contradicts another. */
export class InvalidArgument extends DomainError {
  constructor(argument: string, flaw: string) {
    super(argument, `${argument} ${flaw}`)
  }
}

/** A deposit whose amount isn't what its assets are worth at its prices. */
export class AmountMismatch extends DomainError {
  constructor(
    readonly amountUsd: string,
    readonly assetsUsd: string,
  ) {
    super('amountUsd', `is ${amountUsd}, but the assets at these prices are worth ${assetsUsd}`)
  }
}

/** A withdrawal of more than the vault holds. */
export class WithdrawalOverValue extends DomainError {
  constructor(
    readonly amountUsd: string,
    readonly valueBeforeUsd: string,
  ) {
    super('amountUsd', `is ${amountUsd}, more than the ${valueBeforeUsd} the vault holds`)
  }
}

/** A valuation without the price of an asset that the vault's deposits have brought in. */
export class PriceMissing extends DomainError {
  constructor(readonly symbol: string) {
    super(`prices.${symbol}`, `is missing: the vault's deposits have brought in ${symbol}`)
  }
}

/** A fact that would take a figure of its vault beyond what can be stored. */
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
