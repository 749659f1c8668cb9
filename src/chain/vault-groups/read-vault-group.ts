import { setTimeout as wait } from 'node:timers/promises'
import { BaseError } from 'viem'
import type { VaultConfig } from '../config.ts'
import { ContractMismatch, Contradiction, LogsIncomplete, SeveralMismatches } from '../errors.ts'
import type { SecondFacts } from '../facts/second-facts.ts'
import { readSeconds } from '../read-seconds.ts'
import {
  type ChainConnection,
  maxRereads,
  type Reading,
  rereadMilliseconds,
  type ResumePoint,
  type VaultGroup,
} from '../reading.ts'
import { type Header, requireTimeOrder } from '../rpc/block.ts'
import { emptyConfirmations } from '../rpc/contract-existence.ts'
import type { LateVault, VaultFault } from './set-aside.ts'

/** Retries from which on the logs of the backfill are read block by block: some nodes cut answers about ranges off. */
const rereadsInRanges = 3

/** Called for a vault with a fault, with the block from which it is not read any more. */
export type OnFault = (vault: LateVault, fault: VaultFault) => void

/** A {@link VaultGroup} as far as it has been read. */
interface GroupState {
  from: ResumePoint | null
  /** The last second that was yielded, and the first of its blocks. */
  lastTs: number
  lastBlock: number
  /** The newest block that was read, with or without facts. */
  readTo: number
  /** Retries since that block was first read. */
  rereads: number
  vaults: readonly VaultConfig[]
}

/**
 * Reads vaults until the end of the chain, or until no vault is left. A vault with a fault is left out from that second
 * on. The same chain yields the same facts, wherever reading resumes.
 * @throws {ChainError} when a retry cannot help
 */
export async function* readVaultGroup(
  chain: ChainConnection,
  { vaults, from }: VaultGroup,
  reading: Reading,
  onFault: OnFault,
  read = readSeconds,
): AsyncGenerator<Omit<SecondFacts, 'faults'>, void> {
  const state: GroupState = { from, lastTs: -1, lastBlock: -1, readTo: -1, rereads: 0, vaults }
  while (state.vaults.length > 0) {
    try {
      const isAtHead = yield* readUntilFault(chain, state, reading, onFault, read)
      if (isAtHead) return
    } catch (error) {
      // An error of viem's decoder: one node may have garbled a log of a venue.
      const isUndecodable = error instanceof BaseError
      if (!isUndecodable && !(error instanceof Contradiction) && !isOfVault(error)) throw error
      if (++state.rereads > (error instanceof Contradiction ? maxRereads : emptyConfirmations - 1)) {
        await leaveOutFailing(chain, state, error, onFault)
        continue
      }
      chain.report('warn', 'The chain is read again', { reason: isUndecodable ? error.shortMessage : error.message })
      chain.rpc.newest.forgetAll()
      chain.rpc.useAllNodes()
      await wait(rereadMilliseconds, undefined, { signal: chain.signal })
    }
  }
}

/**
 * Yields the seconds that were not yielded yet, up to the first one with a fault.
 * @returns whether the end of the chain was reached
 */
async function* readUntilFault(
  chain: ChainConnection,
  state: GroupState,
  reading: Reading,
  onFault: OnFault,
  read: typeof readSeconds,
): AsyncGenerator<Omit<SecondFacts, 'faults'>, boolean> {
  const distrustsRanges = state.rereads >= rereadsInRanges
  const blamesContract = state.rereads >= emptyConfirmations - 1
  const onRead = (block: number): void => {
    if (block > state.readTo) Object.assign(state, { readTo: block, rereads: 0 })
  }
  const group = { vaults: state.vaults, from: state.from }
  const attempt = { distrustsRanges, blamesContract, onRead }
  for await (const { start, facts, faults } of read(chain, group, reading, attempt)) {
    // A second is repeated after a fault, possibly from a later one of its blocks on.
    if (start.number > state.lastBlock) requireTimeOrder({ number: state.lastBlock, ts: state.lastTs }, start)
    if (start.ts <= state.lastTs) continue
    leaveOut(faults, start, onFault)
    const vaults = state.vaults.filter(({ address }) => !faults.has(address))
    Object.assign(state, { from: start, lastTs: start.ts, lastBlock: start.number, rereads: 0, vaults })
    yield { start, facts }
    if (faults.size > 0) return false
  }
  return true
}

/** Returns whether an error concerns contracts of known vaults only. */
function isOfVault(error: unknown): error is ContractMismatch | SeveralMismatches {
  if (error instanceof SeveralMismatches) return error.mismatches.every(isOfVault)
  return error instanceof ContractMismatch && error.vault !== undefined
}

/**
 * Leaves out the vaults whose logs and contracts still disagree after retries, or whose contracts do not answer, from
 * the last yielded second on.
 * @throws {LogsIncomplete} when a contradiction does not concern a single vault
 * @throws {BaseError} the error itself, where it is of viem's decoder
 */
async function leaveOutFailing(
  { rpc }: ChainConnection,
  state: GroupState,
  error: Contradiction | ContractMismatch | SeveralMismatches | BaseError,
  onFault: OnFault,
): Promise<void> {
  if (error instanceof BaseError) throw error
  const errors = error instanceof SeveralMismatches ? error.mismatches : [error]
  const failing = errors.map((one): { vault: VaultConfig; fault: VaultFault } => {
    const fault = one instanceof ContractMismatch ? one : new LogsIncomplete(one.message)
    const vault = state.vaults.find(({ address }) => address === one.vault)
    if (vault === undefined) throw fault
    return { vault, fault }
  })
  const first = Math.min(...state.vaults.map(({ firstBlock }) => firstBlock))
  const { number, hash } = state.from ?? (await rpc.ask((node) => node.block(first)))
  const vaults = state.vaults.filter((one) => failing.every(({ vault }) => vault !== one))
  Object.assign(state, { rereads: 0, vaults })
  for (const { vault, fault } of failing) onFault({ address: vault.address, number, hash }, fault)
}

function leaveOut(faults: SecondFacts['faults'], { number, hash }: Header, onFault: OnFault): void {
  for (const [address, fault] of faults) onFault({ address, number, hash }, fault)
}
