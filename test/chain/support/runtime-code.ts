import { concatHex, type Hex, numberToHex, size, toEventSelector, toFunctionSelector } from 'viem'

/* Bytecode of contracts with unusual behaviour. */

/** PUSH0, PUSH0, REVERT. */
export const reverting: Hex = '0x5f5ffd'

/** Returns the data of the transaction that creates a contract with this code. */
export function creationOfCode(runtime: Hex): Hex {
  return concatHex(['0x61', numberToHex(size(runtime), { size: 2 }), '0x80600a5f395ff3', runtime])
}

/** Returns code that responds to each call with its own address, twice, and reverts calls of the given functions. */
export function returningItselfExcept(...signatures: readonly string[]): Hex {
  const checkBytes = 10
  const saying = '0x305f523060205260405ff3'
  const revertsAt = 5 + checkBytes * signatures.length + size(saying)
  const checks = signatures.map((signature) =>
    concatHex(['0x8063', toFunctionSelector(signature), '0x1460', numberToHex(revertsAt, { size: 1 }), '0x57']),
  )
  return concatHex(['0x5f3560e01c', ...checks, saying, '0x5b', reverting])
}

/**
 * Returns code that logs a Mint of a pool, from tick 0 to 10, for the owner in the call data of one word; any other call
 * reverts.
 */
export function loggingMint(): Hex {
  const mint = toEventSelector('Mint(address,address,int24,int24,uint128,uint256,uint256)')
  return concatHex(['0x36602014600a57', reverting, '0x5b6005602052600a5f5f357f', mint, '0x60805fa400'])
}
