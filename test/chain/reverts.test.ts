import { RpcRequestError } from 'viem'
import { describe, expect, test } from 'vitest'
import { RequestFailed } from '../../src/chain/errors.ts'
import { isRevert } from '../../src/chain/rpc/faults.ts'

function answeredWith(message: string, code = -32_000): RequestFailed {
  const cause = new RpcRequestError({ body: {}, error: { code, message }, url: 'http://node' })
  return new RequestFailed('eth_call', true, { cause })
}

describe('a failed call', () => {
  test.each([
    // geth
    'execution reverted',
    'out of gas',
    'invalid jump destination',
    'invalid opcode: opcode 0xfe not defined',
    'stack underflow (0 <=> 1)',
    'stack limit reached 1024 (1023)',
    'gas uint64 overflow',
    'return data out of bounds',
    'write protection',
    // Besu
    'Bad instruction',
    'Out of stack',
    'Out of bounds',
    'Illegal state change',
    'Precompile error',
    // Nethermind
    'BadInstruction',
    'BadJumpDestination',
    'StaticCallViolation',
    'AccessViolation',
  ])('was executed where the answer is the error %s', (message) => {
    expect(isRevert(answeredWith(message))).toBe(true)
  })

  test.each([
    'block 12 is out of bounds of the archive',
    'write protection of the database',
    'request limit reached 1024 (1023)',
    'header not found',
    'precompile errors are counted: rate limit exceeded',
  ])('was not executed where the answer is the error %s', (message) => {
    expect(isRevert(answeredWith(message))).toBe(false)
  })
})
