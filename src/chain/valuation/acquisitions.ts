import {
  type Address,
  getAddress,
  type Hex,
  isAddressEqual,
  padHex,
  parseAbiItem,
  toEventSelector,
  zeroAddress,
} from 'viem'
import { ContractMismatch } from '../errors.ts'
import type { VaultHoldings } from '../positions/holding.ts'
import { groupBy } from '../rpc/arrays.ts'
import type { ChainLog } from '../rpc/block.ts'
import { readLogRange } from '../rpc/log-ranges.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'
import type { Venues } from '../venues/venues.ts'
import { isCoin, type Tokens } from './tokens.ts'

const transferTopic = toEventSelector(parseAbiItem('event Transfer(address indexed, address indexed, uint256)'))

/** Number of newest blocks whose logs are read again each time: a reorganisation may replace them. */
const unsettledBlocks = 128

/** The acquisitions of a vault up to a block, each with its first block. */
interface History {
  readonly to: number
  readonly tokens: ReadonlyMap<Address, number>
  /** Positions that arrived in a transaction in which the vault paid. */
  readonly positions: ReadonlyMap<string, number>
  /** The accounts to which the vault has sent positions, such as gauges, whose payments are its earnings. */
  readonly custodians: ReadonlyMap<Address, number>
  /** Block of the first payment other than a withdrawal; Infinity where there is none. */
  readonly firstPayment: number
}

/** Options of {@link Acquisitions}. */
export interface AcquisitionsOptions {
  readonly venues: Venues
  readonly kinds: VaultKinds
  readonly tokens: Tokens
}

/** A token transfer to or from the accounts of a vault. */
interface Transfer {
  readonly token: Address
  readonly from: Address
  readonly to: Address
  readonly units: bigint
  readonly log: ChainLog
}

/**
 * Distinguishes tokens that a vault has acquired by its own actions from unsolicited transfers, by transfer logs. A
 * vault acquires the tokens that it receives in a transaction in which it pays more than withdrawals explain, or
 * withdraws from a position acquired likewise. Payments of its positions' custodians, and tokens that it has ever sent,
 * count too.
 */
export class Acquisitions {
  readonly #settled = new Map<Address, Promise<History>>()

  constructor(readonly options: AcquisitionsOptions) {}

  /** Returns whether a token is an asset of a vault, or the vault has acquired the token or a position in it. */
  async include(state: BlockState, vault: Address, token: Address, held: VaultHoldings): Promise<boolean> {
    const { kinds, venues, tokens } = this.options
    const { number } = state.block
    const assets = await kinds.of(vault).adapter.readAssets(state, vault)
    const [asset] = assets
    if (asset === undefined || assets.includes(token)) return true
    // Vaults with a pair of assets hold no other tokens.
    if (assets.length > 1) return false
    const history = await this.#historyAt(state, vault, asset)
    const known = tokens.get(token)
    // Transfers of the native coin have no logs: any payment of the vault may have acquired it.
    if (known !== undefined && isCoin(known)) return history.firstPayment <= number
    if (isBy(history.tokens, token, number)) return true
    const own = held.positions.filter(({ id }) => !venues.lists(id) || isBy(history.positions, id, number))
    const terms = await Promise.all(own.map(({ id }) => venues.readStored(state, id)))
    return terms.some((one) => one !== null && (one.token0 === token || one.token1 === token))
  }

  async #historyAt(state: BlockState, vault: Address, asset: Address): Promise<History> {
    const { number } = state.block
    const firstBlock = this.options.kinds.vaults.find(({ address }) => address === vault)?.firstBlock ?? 0
    const before = this.#settled.get(vault) ?? Promise.resolve(noHistory(firstBlock - 1))
    const extended = before.then((known) => this.#extend(known, state, vault, asset, number - unsettledBlocks))
    this.#settled.set(
      vault,
      extended.catch(() => before),
    )
    return this.#extend(await extended, state, vault, asset, number)
  }

  /** Extends the history up to a block, from the same nodes as the state. */
  async #extend(known: History, state: BlockState, vault: Address, asset: Address, to: number): Promise<History> {
    const from = known.to + 1
    if (from > to) return known
    const { rpc } = state
    const { venues } = this.options
    const { accounts } = this.options.kinds.of(vault)
    const [transfers, withdrawals, moves] = await Promise.all([
      this.#readTransfers(rpc, accounts, from, to),
      this.#readWithdrawals(rpc, vault, from, to),
      readLogRange(rpc, venues.movesOf(accounts), from, to),
    ])
    const paid = paymentsIn(transfers, accounts, asset, withdrawals)
    const next = {
      to,
      tokens: new Map(known.tokens),
      positions: new Map(known.positions),
      custodians: new Map(known.custodians),
      firstPayment: [...paid.values()].reduce((first, block) => Math.min(first, block), known.firstPayment),
    }
    const acting = new Set(paid.keys())
    for (const log of moves) this.#noteMove(next, log, accounts, acting)
    await venues.locate(state, [...next.positions.keys()])
    for (const log of await readLogRange(rpc, venues.changesOf([...next.positions.keys()]), from, to)) {
      const change = venues.decodeLog(log)
      if (change === null || !next.positions.has(change.id)) continue
      // Anyone can add liquidity to a position; only its holder can withdraw.
      if (['decreased', 'collected', 'modified'].includes(change.kind)) acting.add(log.txHash)
    }
    for (const { token, from: payer, log } of transfers) {
      const isSent = accounts.includes(payer)
      if (isSent || acting.has(log.txHash) || isBy(next.custodians, payer, log.block)) {
        note(next.tokens, token, log.block)
      }
    }
    return next
  }

  #noteMove(
    { positions, custodians }: { positions: Map<string, number>; custodians: Map<Address, number> },
    log: ChainLog,
    accounts: readonly Address[],
    acting: Set<Hex>,
  ): void {
    const change = this.options.venues.decodeLog(log)
    if (change === null) return
    if (change.kind !== 'moved') {
      if (change.account?.isByOwner === true && accounts.includes(change.account.owner)) acting.add(log.txHash)
    } else if (accounts.includes(change.from)) {
      if (change.to !== zeroAddress) note(custodians, change.to, log.block)
    } else if (acting.has(log.txHash)) note(positions, change.id, log.block)
  }

  async #readTransfers(rpc: Rpc, accounts: readonly Address[], from: number, to: number): Promise<Transfer[]> {
    const address = [...this.options.tokens.values()].filter((token) => !isCoin(token)).map((token) => token.address)
    const padded = accounts.map((account) => padHex(account, { size: 32 }))
    const filters = [
      { address, topics: [transferTopic, padded] },
      { address, topics: [transferTopic, null, padded] },
    ]
    const logs = await readLogRange(rpc, filters, from, to)
    return logs.flatMap((log): Transfer[] => {
      const [, sender, receiver] = log.topics
      if (log.topics.length !== 3 || sender === undefined || receiver === undefined || log.data.length !== 66) return []
      const units = BigInt(log.data)
      const transfer = { from: addressIn(sender), to: addressIn(receiver), units, log }
      return units === 0n ? [] : [{ ...transfer, token: getAddress(log.address) }]
    })
  }

  /** Returns the assets that withdrawals have paid, by transaction. */
  async #readWithdrawals(rpc: Rpc, vault: Address, from: number, to: number): Promise<Map<Hex, bigint>> {
    const { adapter } = this.options.kinds.of(vault)
    const logs = await readLogRange(rpc, [{ address: vault, topics: [adapter.topics] }], from, to)
    const paid = new Map<Hex, bigint>()
    for (const log of logs) {
      try {
        const change = adapter.decodeLog(log)
        if (change?.kind !== 'withdrawn') continue
        paid.set(log.txHash, (paid.get(log.txHash) ?? 0n) + (change.amounts[0] ?? 0n))
      } catch (error) {
        // The reader sets the vault aside for this log.
        if (!(error instanceof ContractMismatch)) throw error
      }
    }
    return paid
  }
}

/** Returns the transactions in which accounts have sent more than withdrawals explain, with their blocks. */
function paymentsIn(
  transfers: readonly Transfer[],
  accounts: readonly Address[],
  asset: Address,
  withdrawals: ReadonlyMap<Hex, bigint>,
): Map<Hex, number> {
  const sent = transfers.filter(({ from, to }) => accounts.includes(from) && !accounts.includes(to))
  const payments = new Map<Hex, number>()
  for (const [txHash, some] of groupBy(sent, ({ log }) => log.txHash)) {
    const others = some.some(({ token }) => !isAddressEqual(token, asset))
    const units = some.reduce((sum, one) => sum + (isAddressEqual(one.token, asset) ? one.units : 0n), 0n)
    const [first] = some
    if (first !== undefined && (others || units > (withdrawals.get(txHash) ?? 0n)))
      payments.set(txHash, first.log.block)
  }
  return payments
}

function noHistory(to: number): History {
  return { to, tokens: new Map(), positions: new Map(), custodians: new Map(), firstPayment: Infinity }
}

function note<Key>(blocks: Map<Key, number>, key: Key, block: number): void {
  blocks.set(key, Math.min(block, blocks.get(key) ?? block))
}

function isBy<Key>(blocks: ReadonlyMap<Key, number>, key: Key, number: number): boolean {
  return (blocks.get(key) ?? Infinity) <= number
}

function addressIn(topic: Hex): Address {
  return getAddress(`0x${topic.slice(-40)}`)
}
