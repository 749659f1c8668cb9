import { describe, expect, test } from 'vitest'
import { type ChainConfig, readChainConfig } from '../../src/chain/config.ts'
import { BadChainConfig } from '../../src/chain/errors.ts'
import { chainName } from '../../src/chain/feed.ts'
import { readmeExample } from './support/example.ts'

const example = readmeExample()
const read = (value: unknown): ChainConfig => readChainConfig('chain.json', JSON.stringify(value))

function problemsOf(value: unknown): readonly string[] {
  try {
    read(value)
  } catch (error) {
    if (error instanceof BadChainConfig) return error.problems
    throw error
  }
  return []
}

describe('a chain.json', () => {
  test('has defaults', () => {
    const { finality: _, ...rest } = example as Record<string, unknown>
    expect(read({ ...rest, rpc: [{ url: 'http://localhost:8545' }] })).toMatchObject({
      finality: 'finalized',
      pollSeconds: 4,
      multicall: '0xcA11bde05977b3631167028862bE2a173976CA11',
      rpc: [{ url: 'http://localhost:8545', requestsPerSecond: 10 }],
    })
  })

  test('may begin with a byte order mark', () => {
    expect(readChainConfig('chain.json', `\uFEFF${JSON.stringify(example)}`)).toEqual(read(example))
  })

  const [strategy] = example['strategies'] as [object]

  test.each<[string, Record<string, unknown>, string | RegExp]>([
    ['chainId', { chainId: undefined }, 'chainId is missing'],
    ['rpc', { rpc: [] }, 'rpc is empty'],
    ['rpc', { rpc: [{ url: 'ws://node' }] }, 'rpc[0].url is not an http:// or https:// address'],
    ['rpc', { rpc: [{ url: 'http://a' }, { url: 'http://a' }] }, 'rpc[1].url stands there twice'],
    [
      'finality',
      { finality: 'soon' },
      `finality is "soon", which is none of what it can be: see the example in src/chain/README.md`,
    ],
    ['finality', { finality: 0 }, 'finality is 0, less than 1'],
    [
      'positionManager',
      { positionManager: '0x1' },
      'positionManager "0x1" is not an address: it is not 0x and 40 hex digits',
    ],
    [
      'otherPositionManagers',
      { otherPositionManagers: [example.tokens[0]?.address, example.tokens[0]?.address] },
      'otherPositionManagers[1] stands there twice',
    ],
    [
      'otherPositionManagers',
      { otherPositionManagers: [String(example['positionManager']).toLowerCase()] },
      'otherPositionManagers[0] is the positionManager, too',
    ],
    ['strategies', { strategies: [{ ...strategy, id: example.tokens[0]?.address }] }, /^strategies\[0\]\.id is "0x/],
    [
      'strategies',
      { strategies: [{ ...strategy, name: 'a\0b' }] },
      'strategies[0].name holds a NUL or half a surrogate pair',
    ],
    [
      'tokens',
      { tokens: [{ ...example.tokens[0], symbol: '\ud800' }] },
      'tokens[0].symbol holds a NUL or half a surrogate pair',
    ],
    ['vaults', { vaults: [] }, 'vaults is empty'],
    [
      'vaults',
      { vaults: [{ ...example.vaults[0], strategy: 'wild' }] },
      'vaults[0].strategy names "wild", which is none of the strategies',
    ],
    ['vaults', { vaults: [{ ...example.vaults[0], firstBlock: 0 }] }, 'vaults[0].firstBlock is 0, less than 1'],
    ['tokens', { tokens: [example.tokens[0], example.tokens[0]] }, 'tokens[1].address stands there twice'],
    ['tokens', { tokens: [{ ...example.tokens[0], price: [] }] }, 'tokens[0].price is empty'],
    ['more', { more: 1 }, 'it has "more", which is no key of it'],
  ])('is refused with a wrong %s', (_key, change, problem) => {
    const matching = typeof problem === 'string' ? problem : (expect.stringMatching(problem) as string)
    expect(problemsOf({ ...example, ...change })).toContainEqual(matching)
  })

  test('reports every problem', () => {
    expect(problemsOf({ ...example, chainId: 0, markEveryBlocks: 1.5, pollSeconds: -1 })).toHaveLength(3)
  })

  test('reports each problem of a strategy once', () => {
    const strategies = [
      { ...strategy, id: 'a', name: '' },
      { ...strategy, id: 'b', ts: -1 },
      { ...strategy, id: 'c', tagline: '\0', name: 'long'.repeat(60) },
    ]
    const problems = problemsOf({ ...example, strategies, vaults: [{ ...example.vaults[0], strategy: 'a' }] })
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      ...['strategies[0].name', 'strategies[1].ts', 'strategies[2].name', 'strategies[2].tagline'],
    ])
  })

  test('has to be JSON', () => {
    expect(() => readChainConfig('chain.json', '{')).toThrow(/^chain\.json can't be used:\n {2}is not JSON: /)
  })

  test('is another feed where it yields other facts, and the same one with other nodes', () => {
    const name = chainName(read(example))
    expect(chainName(read({ ...example, rpc: [{ url: 'http://other' }], finality: 12, pollSeconds: 1 }))).toBe(name)
    expect(chainName(read({ ...example, markEveryBlocks: 301 }))).not.toBe(name)
    expect(name).toMatch(/^chain 1 \([0-9a-f]{12}\)$/)
  })
})
