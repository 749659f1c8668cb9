import { concatHex, type Hex, numberToHex, size, toEventSelector, toFunctionSelector } from 'viem'

/* Contracts for tests that are written as bytes: each does one odd thing. */

/** PUSH0, PUSH0, REVERT. */
export const reverting: Hex = '0x5f5ffd'

/** Returns the data of the transaction that creates a contract with this code. */
export function creationOfCode(runtime: Hex): Hex {
  return concatHex(['0x61', numberToHex(size(runtime), { size: 2 }), '0x80600a5f395ff3', runtime])
}

/** Answers each call with its own address, twice, but for those of some functions, which revert. */
export function sayingItselfBut(...signatures: readonly string[]): Hex {
  const checkBytes = 10
  const saying = '0x305f523060205260405ff3'
  const revertsAt = 5 + checkBytes * signatures.length + size(saying)
  const checks = signatures.map((signature) =>
    concatHex(['0x8063', toFunctionSelector(signature), '0x1460', numberToHex(revertsAt, { size: 1 }), '0x57']),
  )
  return concatHex(['0x5f3560e01c', ...checks, saying, '0x5b', reverting])
}

/**
 * Logs that a pool has added liquidity from tick 0 to 10 for the owner whom it is given as its only data; every other call
 * reverts.
 */
export function loggingMint(): Hex {
  const mint = toEventSelector('Mint(address,address,int24,int24,uint128,uint256,uint256)')
  return concatHex(['0x36602014600a57', reverting, '0x5b6005602052600a5f5f357f', mint, '0x60805fa400'])
}
