import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import {
  type Abi,
  type Address,
  createTestClient,
  encodeFunctionData,
  getAddress,
  type Hex,
  http,
  publicActions,
} from 'viem'
import { describe } from 'vitest'

const secondsPerBlock = 12
const gas = 9_000_000n

/** Timeout of a test and of its preparation on a busy machine. */
export const patienceMilliseconds = 240_000

/** Path of the local node's program; null where its package has none for this platform. */
const program = findProgram()

/**
 * Declares tests on a local node. Where its program is not available for this platform they are skipped with the reason;
 * in CI that is a failure.
 */
export function describeOnChain(name: string, tests: () => void): void {
  if (program !== null) return void describe(name, { timeout: patienceMilliseconds }, tests)
  const reason = `@foundry-rs/anvil has no program for ${process.platform} ${process.arch}`
  if (process.env['CI'] !== undefined) throw new Error(`${name} can't be tested: ${reason}`)
  console.warn(`Skipped, for ${reason}: ${name}`)
  describe.skip(`${name} (skipped: ${reason})`, tests)
}

export type TestChain = Awaited<ReturnType<typeof startChain>>

/** A call that is sent as a transaction. */
export interface Call {
  readonly from: Address
  readonly to?: Address
  readonly data: Hex
  /** Amount of the chain's own coin that it pays. */
  readonly value?: bigint
}

/** Starts a local node that mines blocks on request, 12 s apart. */
export async function startChain(
  options: {
    readonly timestamp?: number
    readonly chainId?: number
    readonly timeoutMilliseconds?: number
    /** Number of newest blocks whose states are kept, all in memory; the node's own limit unless given. */
    readonly states?: number
  } = {},
) {
  const { timestamp = 1_700_000_000, chainId = 31_337, timeoutMilliseconds = 60_000, states } = options
  const kept = states === undefined ? [] : ['--prune-history', String(states)]
  const { child, url } = await startProgram(timestamp, chainId, kept)
  const transport = http(url, { retryCount: 0, timeout: timeoutMilliseconds })
  const client = createTestClient({ mode: 'anvil', transport }).extend(publicActions)
  const request = client.request as (body: { method: string; params?: unknown }) => Promise<unknown>
  const accounts = ((await request({ method: 'eth_accounts' })) as Address[]).map((account) => getAddress(account))

  const mine = async (blocks = 1, seconds = secondsPerBlock): Promise<void> => {
    await request({ method: 'anvil_mine', params: [`0x${blocks.toString(16)}`, `0x${seconds.toString(16)}`] })
  }
  const send = async ({ from, to, data, value }: Call): Promise<Hex> => {
    const paid = value === undefined ? {} : { value: `0x${value.toString(16)}` }
    const params = [{ from, ...(to === undefined ? {} : { to }), data, ...paid, gas: `0x${gas.toString(16)}` }]
    return (await request({ method: 'eth_sendTransaction', params })) as Hex
  }

  const receiptOf = async (hash: Hex) => {
    const receipt = await client.getTransactionReceipt({ hash })
    if (receipt.status !== 'success') throw new Error(`The transaction ${hash} of block ${receipt.blockNumber} failed`)
    return receipt
  }
  /** Mines transactions as one block. */
  const block = async (...calls: Call[]) => {
    const hashes: Hex[] = []
    for (const call of calls) hashes.push(await send(call))
    await mine()
    return Promise.all(hashes.map(receiptOf))
  }
  const deploy = async (from: Address, data: Hex): Promise<Address> => {
    const [receipt] = await block({ from, data })
    return getAddress(receipt?.contractAddress as Address)
  }
  return {
    url,
    client,
    accounts,
    request,
    mine,
    send,
    block,
    deploy,
    receiptOf,
    head: async () => Number(await client.getBlockNumber({ cacheTime: 0 })),
    stop: () => stopped(child),
  }
}

/** A call of a contract's function. */
export function callOf(from: Address, to: Address, abi: Abi, functionName: string, args: readonly unknown[]): Call {
  return { from, to, data: encodeFunctionData({ abi, functionName, args }) }
}

async function startProgram(
  timestamp: number,
  chainId: number,
  more: readonly string[],
): Promise<{ child: ChildProcess; url: string }> {
  const args = ['--hardfork', 'cancun', '--slots-in-an-epoch', '4', '--port', '0', '--no-mining', '--order', 'fifo']
  const own = ['--timestamp', String(timestamp), '--chain-id', String(chainId), ...more]
  const child = spawn(program as string, [...args, ...own], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    const onWords = (words: string): void => {
      output += words
      const found = /Listening on (\S+)/.exec(output)?.[1]
      if (found === undefined) return
      // It then prints a line for each request.
      child.stdout.off('data', onWords).resume()
      resolve(`http://${found}`)
    }
    child.stdout.setEncoding('utf8').on('data', onWords)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`The local node ended:\n${output}`)))
  })
  return { child, url }
}

function stopped(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  child.kill('SIGKILL')
  return ended
}

function findProgram(): string | null {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const require = createRequire(import.meta.url)
  try {
    const folder = path.dirname(require.resolve(`@foundry-rs/anvil-${process.platform}-${architecture}/package.json`))
    const file = path.join(folder, 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil')
    return existsSync(file) ? file : null
  } catch {
    return null
  }
}
