import { numberToHex } from 'viem'
import { expect, test, vi } from 'vitest'
import { followChain } from '../../src/chain/follow.ts'
import { connectRpc } from '../../src/chain/rpc/rpc.ts'
import { startProxy } from './support/proxy.ts'
import { type ReaderMessage, shortFaultTimes } from './support/reading.ts'

const hashOf = (number: number): `0x${string}` => numberToHex(number + 1, { size: 32 })
const headerOf = (number: number) => ({
  number: numberToHex(number),
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp: numberToHex(1_700_000_000 + number),
  logsBloom: `0x${'0'.repeat(512)}`,
})

test('a final block that stays below one that was read is logged once, and again after the chain has grown', async () => {
  let final = 100
  const proxy = await startProxy('http://127.0.0.1:9', ({ method, params }) => {
    if (method === 'eth_chainId') return Promise.resolve({ result: '0x1' })
    const number = params[0] === 'finalized' ? final : Number(params[0])
    return Promise.resolve({ result: number > final ? null : headerOf(number) })
  })
  const [messages, stop, heads]: [ReaderMessage[], AbortController, number[]] = [[], new AbortController(), []]
  const report = (level: string, message: string, facts: ReaderMessage['facts']): void =>
    void messages.push({ level, message, facts })
  const nodes = { chainId: 1, rpc: [{ url: proxy.url, requestsPerSecond: 10_000 }] }
  const rpc = connectRpc(nodes, {
    ...{ signal: stop.signal, report, givesUp: false, onLastingFault: () => undefined },
    retry: { firstMilliseconds: 2, maxMilliseconds: 20, faultTimes: shortFaultTimes },
  })
  const config = { finality: 'finalized', pollSeconds: 0.01 } as const
  const none = { logs: [], isVerified: true }
  const logs = { ofRange: () => Promise.resolve([]), ofSecond: () => Promise.resolve(none) }
  const parent = { number: 97, hash: hashOf(97), parentHash: hashOf(96), ts: 1_700_000_097, logsBloom: '0x' } as const
  const onHead = ({ number }: { number: number }): Promise<void> => Promise.resolve(void heads.push(number))
  const reading = (async () => {
    const chain = { rpc, report, signal: stop.signal, once: false, config }
    for await (const range of followChain(chain, { logs, parent, onHead } as never)) void range
  })()
  const ended = expect(reading).rejects.toThrow('aborted')
  const lowAt = (low: number, read: number): ReaderMessage => ({
    level: 'error',
    message: 'The newest final block stays below one that was read',
    facts: { node: new URL(proxy.url).host, final: low, read },
  })
  await vi.waitFor(() => expect(heads).toContain(99))
  final = 50
  await vi.waitFor(() => expect(messages).toEqual([lowAt(50, 99)]), { timeout: 5_000 })
  const polls = heads.length
  await vi.waitFor(() => expect(heads.length).toBeGreaterThan(polls + 5), { timeout: 5_000 })
  final = 103
  await vi.waitFor(() => expect(heads).toContain(102), { timeout: 5_000 })
  final = 60
  await vi.waitFor(() => expect(messages).toEqual([lowAt(50, 99), lowAt(60, 102)]), { timeout: 5_000 })
  stop.abort()
  await ended
  await proxy.close()
})
