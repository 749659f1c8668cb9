import { type Address, parseAbi } from 'viem'
import type { VaultConfig } from '../config.ts'
import { ChainUnreadable, ContractMismatch, Contradiction, PriceUnavailable } from '../errors.ts'
import { initialPositions } from '../positions/initial-positions.ts'
import type { ChainConnection } from '../reading.ts'
import type { Header } from '../rpc/block.ts'
import { finalBlock } from '../rpc/finality.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import { BlockState } from '../rpc/multicall.ts'
import { readPrices, requireToken } from '../valuation/tokens.ts'
import { valueWithoutGifts } from '../valuation/gifts.ts'
import { requireCreation } from './creation.ts'
import { configuredRecipients, mayMintFees, readFeeRecipient, readHighWaterMark } from './vault-fees.ts'
import type { VaultKinds } from './vault-kinds.ts'

const pausableAbi = parseAbi(['function paused() view returns (bool)'])

/** The result of reading a vault at the newest block. */
export interface VaultReport {
  readonly address: Address
  readonly block: number
  /** The kind of vault, and its venues; null where none fits. */
  readonly adapter: string | null
  /** Names and values of the properties that were read. */
  readonly read: readonly (readonly [name: string, value: string])[]
  /** Reasons why the vault would be set aside, without full stops; empty where it can be read. */
  readonly missing: readonly string[]
}

/**
 * Reads each vault at the newest block, and reports what is missing.
 * @throws {ChainError} when the nodes cannot be read
 */
export async function checkVaults(connection: ChainConnection): Promise<VaultReport[]> {
  const block = await finalBlock(connection.rpc, connection.config.finality)
  return Promise.all(connection.config.vaults.map((vault) => checkVault(connection, vault, block)))
}

async function checkVault(connection: ChainConnection, vault: VaultConfig, block: Header): Promise<VaultReport> {
  const { address, firstBlock } = vault
  const { adapter, pools } = connection.kinds.of(address)
  const missing: string[] = []
  const read: [name: string, value: string][] = []
  /** Runs one part of the check, and records its failure so that the others continue. */
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work()
      return true
    } catch (error) {
      const told = [ContractMismatch, PriceUnavailable, ChainUnreadable, Contradiction]
      if (!told.some((kind) => error instanceof kind)) throw error
      missing.push((error as Error).message)
      return false
    }
  }
  if (firstBlock > block.number) {
    missing.push(`firstBlock is ${firstBlock}, after the newest block, ${block.number}`)
    return { address, block: block.number, adapter: null, read, missing }
  }
  await attempt(() => checkCreation(connection, vault))
  const state = new BlockState(connection.rpc, connection.multicall, block)
  const feeTokens: Address[] = []
  const fits = await attempt(async () => {
    const { owner, assets, feeTokens: tokens = [] } = await adapter.readTerms(state, address)
    feeTokens.push(...tokens)
    const symbols = assets.map((asset) => connection.tokens.get(asset)?.symbol ?? asset)
    read.push(['owner', owner], [assets.length === 1 ? 'asset' : 'assets', symbols.join(', ')])
  })
  if (fits) {
    for (const token of feeTokens) {
      await attempt(() => Promise.resolve(void requireToken(connection.tokens, token, address, block.number)))
    }
    await attempt(async () => void read.push(...(await readValue(connection, state, block.ts, vault))))
    read.push(...(await readOptional(connection, state, address)))
  }
  return {
    address,
    block: block.number,
    adapter: fits ? `${adapter.name}, ${describeVenues(connection, pools)}` : null,
    read,
    missing,
  }
}

function describeVenues({ venues }: ChainConnection, pools: readonly Address[]): string {
  const ofManagers = new Set(venues.all.filter(({ list }) => list !== undefined).map(({ name }) => name))
  return [...ofManagers, ...pools.map((pool) => `positions in the pool ${pool} itself`)].join(', ')
}

/** Checks the vault's first block, whose state the nodes may lack. */
async function checkCreation({ impatientRpc, multicall, kinds }: ChainConnection, vault: VaultConfig): Promise<void> {
  const first = await impatientRpc.ask((node) => node.block(vault.firstBlock))
  const { adapter } = kinds.of(vault.address)
  await requireCreation(new BlockState(impatientRpc, multicall, first), first.parentHash, vault, adapter)
}

async function readValue(
  connection: ChainConnection,
  state: BlockState,
  ts: number,
  config: VaultConfig,
): Promise<[name: string, value: string][]> {
  const { tokens, venues, kinds } = connection
  const { address: vault } = config
  const kind = kinds.of(vault)
  const assets = await kind.adapter.readAssets(state, vault)
  const prices = readPrices({ state, ts }, tokens)
  const priced = await Promise.all(
    assets.map(async (asset) => {
      const { symbol } = requireToken(tokens, asset, vault, state.block.number)
      const price = (await prices).require(symbol)
      return `${price.toFixed()} USD for one ${symbol}`
    }),
  )
  const holdings = await initialPositions(state.block, { ...connection, vaults: [config] })
  const held = holdings.of(vault)
  const left: string[] = []
  const gifts = { acquisitions: connection.acquisitions, onGift: ({ message }: Error) => void left.push(message) }
  const { valueUsd } = await valueWithoutGifts(state, { venues, tokens, prices }, { vault, ...kind }, held, gifts)
  const foreign = held.foreign.length
  const others = [
    held.strays === 0 ? '' : `, and ${held.strays} in other tokens, which don't count`,
    foreign === 0
      ? ''
      : `, and ${foreign} of others or in pools whose hooks can change what they pay, which don't count`,
  ].join('')
  return [
    ['value', `${valueUsd.toFixed()} USD`],
    ...priced.map((price): [string, string] => ['price', price]),
    ['positions', `${held.positions.length}${others}`],
    ...left.map((message): [string, string] => ['sent by others', `something that doesn't count: ${message}`]),
  ]
}

/** Reads a vault's optional features. */
async function readOptional(
  { kinds }: ChainConnection,
  state: BlockState,
  vault: Address,
): Promise<[name: string, value: string][]> {
  const paused = await state.read(contractCall(pausableAbi, vault, 'paused', []))
  const hasFees = mayMintFees(kinds, vault)
  const [recipients, highWaterMark] = await Promise.all([
    hasFees ? recipientsOf(kinds, state, vault) : [],
    hasFees ? readHighWaterMark(state, vault) : null,
  ])
  return [
    ['suspended', paused === null ? "unknown: it doesn't answer paused()" : paused ? 'yes' : 'no'],
    ['fees', recipients.length === 0 ? 'none that can be read' : `new shares for ${recipients.join(', ')}`],
    ['high-water mark', highWaterMark === null ? 'the greatest gain' : 'highWaterMark()'],
  ]
}

async function recipientsOf(kinds: VaultKinds, state: BlockState, vault: Address): Promise<string[]> {
  const named = await readFeeRecipient(state, vault)
  return [...configuredRecipients(kinds, vault), ...(named === null ? [] : ['feeRecipient()'])]
}
