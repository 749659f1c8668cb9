import { setTimeout as wait } from 'node:timers/promises'
import { BaseError } from 'viem'
import type { VaultConfig } from '../config.ts'
import { ContractMismatch, Contradiction, LogsIncomplete, SeveralMismatches } from '../errors.ts'
import type { SecondFacts } from '../facts/second-facts.ts'
import { type ReaderOptions, readSeconds, type ResumePoint } from '../reader.ts'
import { type Header, requireTimeOrder } from '../rpc/block.ts'
import { emptyConfirmations } from '../rpc/contract-existence.ts'
import type { LateVault, VaultFault } from './set-aside.ts'

/** Maximum number of retries where logs and contracts disagree. */
const maxRereads = 5
const rereadSeconds = 1
/** Retries from which on the logs of old blocks are read one by one: some nodes cut answers about ranges off. */
const rereadsInRanges = 3

/** Vaults that are read together, and the block to resume from. */
export interface Stage {
  readonly vaults: readonly VaultConfig[]
  readonly from: ResumePoint | null
}

/** Called for a vault with a fault, with the block from which it is not read any more. */
export type OnFault = (vault: LateVault, fault: VaultFault) => void

interface StageProgress {
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
export async function* readStage(
  options: ReaderOptions,
  { vaults, from }: Stage,
  onFault: OnFault,
  read = readSeconds,
): AsyncGenerator<Omit<SecondFacts, 'faults'>, void> {
  const progress: StageProgress = { from, lastTs: -1, lastBlock: -1, readTo: -1, rereads: 0, vaults }
  while (progress.vaults.length > 0) {
    try {
      const isAtEnd = yield* readOn(options, progress, onFault, read)
      if (isAtEnd) return
    } catch (error) {
      // An error of viem's decoder: one node may have garbled a log of a venue.
      const isUndecodable = error instanceof BaseError
      if (!isUndecodable && !(error instanceof Contradiction) && !isOfVault(error)) throw error
      if (++progress.rereads > (error instanceof Contradiction ? maxRereads : emptyConfirmations - 1)) {
        await leaveOutFailing(options, progress, error, onFault)
        continue
      }
      options.report('warn', 'The chain is read again', { reason: isUndecodable ? error.shortMessage : error.message })
      options.rpc.newest.forgetAll()
      options.rpc.useAllNodes()
      await wait(rereadSeconds * 1_000, undefined, { signal: options.signal })
    }
  }
}

/**
 * Yields the seconds that were not yielded yet, up to the first one with a fault.
 * @returns whether the end of the chain was reached
 */
async function* readOn(
  options: ReaderOptions,
  progress: StageProgress,
  onFault: OnFault,
  read: typeof readSeconds,
): AsyncGenerator<Omit<SecondFacts, 'faults'>, boolean> {
  const config = { ...options.config, vaults: [...progress.vaults] }
  const distrustsRanges = progress.rereads >= rereadsInRanges
  const blamesContract = progress.rereads >= emptyConfirmations - 1
  const onRead = (block: number): void => {
    if (block > progress.readTo) Object.assign(progress, { readTo: block, rereads: 0 })
  }
  for await (const { start, facts, faults } of read(
    { ...options, config, onRead, distrustsRanges, blamesContract },
    progress.from,
  )) {
    // A second is repeated after a fault, possibly from a later one of its blocks on.
    if (start.number > progress.lastBlock) requireTimeOrder({ number: progress.lastBlock, ts: progress.lastTs }, start)
    if (start.ts <= progress.lastTs) continue
    leaveOut(faults, start, onFault)
    const vaults = progress.vaults.filter(({ address }) => !faults.has(address))
    Object.assign(progress, { from: start, lastTs: start.ts, lastBlock: start.number, rereads: 0, vaults })
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
  { rpc }: ReaderOptions,
  progress: StageProgress,
  error: Contradiction | ContractMismatch | SeveralMismatches | BaseError,
  onFault: OnFault,
): Promise<void> {
  if (error instanceof BaseError) throw error
  const errors = error instanceof SeveralMismatches ? error.mismatches : [error]
  const failing = errors.map((one): { vault: VaultConfig; fault: VaultFault } => {
    const fault = one instanceof ContractMismatch ? one : new LogsIncomplete(one.message)
    const vault = progress.vaults.find(({ address }) => address === one.vault)
    if (vault === undefined) throw fault
    return { vault, fault }
  })
  const first = Math.min(...progress.vaults.map(({ firstBlock }) => firstBlock))
  const { number, hash } = progress.from ?? (await rpc.ask((node) => node.block(first)))
  const vaults = progress.vaults.filter((one) => failing.every(({ vault }) => vault !== one))
  Object.assign(progress, { rereads: 0, vaults })
  for (const { vault, fault } of failing) onFault({ address: vault.address, number, hash }, fault)
}

function leaveOut(faults: SecondFacts['faults'], { number, hash }: Header, onFault: OnFault): void {
  for (const [address, fault] of faults) onFault({ address, number, hash }, fault)
}
