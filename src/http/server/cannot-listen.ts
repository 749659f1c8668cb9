/** The server cannot listen on its address. */
export class CannotListen extends Error {
  constructor(
    readonly port: number,
    reason: string,
    remedy: string,
  ) {
    super(`The gateway can't listen on port ${port}: ${reason}. ${remedy}`)
    this.name = 'CannotListen'
  }
}
