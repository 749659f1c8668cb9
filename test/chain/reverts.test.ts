import { RpcRequestError } from 'viem'
import { describe, expect, test } from 'vitest'
import { RequestFailed } from '../../src/chain/errors.ts'
import { isRefusedForNumber, isRevert } from '../../src/chain/rpc/faults.ts'

function answeredWith(message: string, code = -32_000): RequestFailed {
  const cause = new RpcRequestError({ body: {}, error: { code, message }, url: 'http://node' })
  return new RequestFailed('eth_call', [{}, { blockHash: '0x' }], { cause })
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

describe('a request for logs', () => {
  test.each([
    // Infura and others
    'query returned more than 10000 results',
    // Alchemy
    'Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range',
    // reth
    'query exceeds max results 20000, retry with the range 1-2',
    // Nethermind
    'Too many logs requested. Max logs per response is 20000.',
    // Erigon
    'query returns too many logs, narrow your filter: 20000',
    // Conduit
    'logs matched by query exceeds limit of 10000',
    'query exceeds max logs per response (20000)',
    'backend response too large',
  ])('was refused for their number where the answer is the error %s', (message) => {
    expect(isRefusedForNumber(answeredWith(message, -32_005))).toBe(true)
  })

  test.each(['too many requests', 'daily request count exceeded, request rate limited', 'limit exceeded'])(
    'was not refused for their number where the answer is the error %s',
    (message) => {
      expect(isRefusedForNumber(answeredWith(message, -32_005))).toBe(false)
    },
  )
})
