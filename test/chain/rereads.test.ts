import { expect, test, vi } from 'vitest'
import { Contradiction } from '../../src/chain/errors.ts'
import { readVaultGroup } from '../../src/chain/vault-groups/read-vault-group.ts'
import type { Header } from '../../src/chain/rpc/block.ts'
import { NewestBlocks } from '../../src/chain/rpc/newest/newest-blocks.ts'
import type { SecondFacts } from '../../src/chain/facts/second-facts.ts'
import type { readSeconds } from '../../src/chain/read-seconds.ts'
import type { ChainConnection } from '../../src/chain/reading.ts'

const vault = { address: `0x${'1'.repeat(40)}` as const, strategy: 'one', firstBlock: 1 }
const { signal } = new AbortController()
const rpc = { newest: new NewestBlocks(), useAllNodes: vi.fn() }
const chain = { config: { vaults: [vault] }, report: () => undefined, signal, rpc } as unknown as ChainConnection

async function faultsOf(read: typeof readSeconds): Promise<unknown[]> {
  const faults: unknown[] = []
  const onFault = (...fault: unknown[]): void => void faults.push(fault)
  const group = { vaults: [vault], from: { number: 1, hash: '0x' } as const }
  const seconds = readVaultGroup(chain, group, { isApplied: () => false }, onFault, read)
  for await (const second of seconds) expect(second).toBeUndefined()
  return faults
}

/** Returns a reader of blocks without facts, each of which contradicts the logs a number of times. */
function contradicting(times: number, blocks: number): typeof readSeconds {
  const counts = new Map<number, number>()
  return async function* (_chain, _group, _reading, { onRead }) {
    for (let block = 1; block <= blocks; block++) {
      const count = counts.get(block) ?? 0
      counts.set(block, count + 1)
      yield* await Promise.resolve<SecondFacts[]>([])
      if (count < times) throw new Contradiction('a log is missing', vault.address)
      onRead(block)
    }
  }
}

test('a vault without facts is read for any number of contradictions that are resolved', async () => {
  expect(await faultsOf(contradicting(1, 8))).toEqual([])
}, 60_000)

test('a vault is set aside where a contradiction persists', async () => {
  expect(await faultsOf(contradicting(7, 1))).toHaveLength(1)
}, 60_000)

test('cached blocks and logs are requested again, also from slow nodes, where a contradiction causes the chain to be read again', async () => {
  const header: Header = { number: 1, hash: '0xab', parentHash: '0x', ts: 1, logsBloom: '0x' }
  let requests = 0
  const read: typeof readSeconds = async function* () {
    const { newest } = rpc
    const count = <Value>(value: Value) => {
      requests++
      return Promise.resolve(value)
    }
    await newest.headerAt(1, () => count(header))
    await newest.logsAt(header, 'filter', () => count([]))
    yield* await Promise.resolve<SecondFacts[]>([])
    if (requests === 2) throw new Contradiction('a log is missing', vault.address)
  }
  expect(await faultsOf(read)).toEqual([])
  expect(requests).toBe(4)
  expect(rpc.useAllNodes).toHaveBeenCalled()
}, 60_000)
