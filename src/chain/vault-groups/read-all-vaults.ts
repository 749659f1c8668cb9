import { setTimeout as wait } from 'node:timers/promises'
import type { Address } from '../../domain/address.ts'
import type { FactInput } from '../../feed/fact/fact.ts'
import type { VaultConfig } from '../config.ts'
import { ChainUnreadable, FactRefused, NoVaultLeft } from '../errors.ts'
import type { ChainConnection, IsApplied, Reading, ResumePoint } from '../reading.ts'
import type { Header } from '../rpc/block.ts'
import { breakExplainer, finalBlock } from '../rpc/finality.ts'
import type { Report } from '../rpc/fault-watch.ts'
import type { Rpc } from '../rpc/rpc.ts'
import type { ChainCursor } from '../chain-position.ts'
import type { LateVault, SetAsideVault } from './set-aside.ts'
import { readVaultGroup } from './read-vault-group.ts'

/** The facts of one second, and the cursor: a restart reads the facts from that second on again. */
export interface ResumableFacts extends Pick<ChainCursor, 'block' | 'late'> {
  readonly facts: readonly FactInput[]
}

/** Vaults that are not read, or not any more. */
export interface UnreadVaults {
  /** Called with all vaults that are set aside, whenever one is added. */
  readonly onSetAside: (vaults: readonly SetAsideVault[]) => void
  /** Vaults that are not read because the feed has refused one of their facts, with the reasons. */
  readonly refused: ReadonlyMap<Address, string>
}

/**
 * Reads vaults as facts, second by second. Vaults that lag behind the others are read first, until they have caught up.
 * A vault that cannot be read further is set aside, and the others continue.
 * @param start cursor to resume from; null for the start of the chain's history
 * @throws {ChainError} when a retry cannot help, or no vault is left and the chain is not followed
 */
export async function* readAllVaults(
  chain: ChainConnection,
  start: Pick<ChainCursor, 'block' | 'late'> | null,
  reading: Omit<Reading, 'until'>,
  { onSetAside, refused }: UnreadVaults,
): AsyncGenerator<ResumableFacts, void> {
  const aside = new AsideVaults(chain.report, onSetAside)
  for (const [address, reason] of refused) {
    aside.add({ address, ...(await resumePointOf(chain, address, start)) }, new FactRefused(address, reason))
  }
  const from =
    start !== null && start.late.length > 0
      ? yield* readLateVaults(chain, start, reading.isApplied, aside)
      : (start?.block ?? null)
  const vaults = chain.config.vaults.filter(({ address }) => !aside.has(address))
  const seconds = readVaultGroup(chain, { vaults, from }, reading, (...fault) => aside.add(...fault))
  for await (const { start: block, facts } of seconds) yield { block, facts, late: aside.late }
  if (aside.late.length < chain.config.vaults.length) return
  if (chain.once) throw aside.error()
  await pollWithoutVaults(chain, reading.onHead)
}

/** Returns the block to resume from for a vault that is set aside at the start. */
async function resumePointOf(
  { config, rpc }: ChainConnection,
  vault: Address,
  start: Pick<ChainCursor, 'block' | 'late'> | null,
): Promise<ResumePoint> {
  const known = start?.late.find(({ address }) => address === vault) ?? start?.block
  const first = Math.min(...config.vaults.map(({ firstBlock }) => firstBlock))
  const { number, hash } = known ?? (await rpc.ask((node) => node.block(first)))
  return { number, hash }
}

/** Continues to poll a chain of which no vault can be read, until the operator corrects the file and restarts. */
async function pollWithoutVaults(
  { rpc, config, signal, report }: ChainConnection,
  onHead: Reading['onHead'],
): Promise<void> {
  report('error', 'None of the vaults can be read: mend the file and start again', {})
  for (;;) {
    await onHead?.(await finalBlock(rpc, config.finality))
    await wait(config.pollSeconds * 1_000, undefined, { signal })
  }
}

/**
 * Reads the vaults that lag behind, up to the second of the block that the others have reached.
 * @returns the first block of that second
 */
async function* readLateVaults(
  chain: ChainConnection,
  { block, late }: Pick<ChainCursor, 'block' | 'late'>,
  isApplied: IsApplied,
  aside: AsideVaults,
): AsyncGenerator<ResumableFacts, Header> {
  const end = await firstOfSecond(chain.rpc, block)
  const left = late.filter(({ address }) => !aside.has(address))
  const behind = left.filter(({ number }) => number < end.number).sort((a, b) => a.number - b.number)
  const [first] = behind
  if (first === undefined) return end
  chain.report('info', 'Vaults that were set aside are read again', { vaults: behind.map(({ address }) => address) })
  const vaults = chain.config.vaults.filter(({ address }) => behind.some((vault) => vault.address === address))
  const remaining = new Map(behind.map((vault) => [vault.address, vault]))
  // Impatient, so that the other vaults do not wait for nodes that lack old blocks.
  const impatient = { ...chain, rpc: chain.impatientRpc, once: true }
  const reading = { isApplied, until: end.number }
  const seconds = readVaultGroup(impatient, { vaults, from: first }, reading, (vault, fault) => {
    remaining.delete(vault.address)
    aside.add(vault, fault)
  })
  try {
    for await (const { start, facts } of seconds) {
      for (const vault of remaining.values()) remaining.set(vault.address, laterOf(vault, start))
      yield { block, facts, late: [...remaining.values(), ...aside.late] }
    }
  } catch (error) {
    if (!(error instanceof ChainUnreadable)) throw error
    for (const vault of remaining.values()) aside.add(vault, error)
  }
  return end
}

/** Returns where a vault resumes after a second was read; unchanged where the vault is ahead of that second. */
function laterOf(vault: LateVault, { number, hash }: Header): LateVault {
  return vault.number < number ? { ...vault, number, hash } : vault
}

/** The vaults that are set aside. */
class AsideVaults {
  readonly #vaults = new Map<string, { readonly late: LateVault; readonly error: Error }>()

  constructor(
    readonly report: Report,
    readonly onSetAside: UnreadVaults['onSetAside'],
  ) {}

  get late(): LateVault[] {
    return [...this.#vaults.values()].map(({ late }) => late)
  }

  has(address: VaultConfig['address']): boolean {
    return this.#vaults.has(address)
  }

  add(late: LateVault, error: Error): void {
    this.#vaults.set(late.address, { late, error })
    const { address, number: block } = late
    this.report('error', `A vault is set aside: ${error.message}`, { vault: address, block })
    const all = [...this.#vaults.values()]
    this.onSetAside(
      all.map((one) => ({ address: one.late.address, reason: one.error.message, block: one.late.number })),
    )
  }

  /** Returns the error that ends reading when no vault is left: the vault's, or one that lists several. */
  error(): Error {
    const errors = [...this.#vaults.values()].map(({ error }) => error)
    const [only = null] = errors.length === 1 ? errors : []
    return only ?? new NoVaultLeft(errors.map(({ message }) => message))
  }
}

/**
 * Returns the first block of the second of a block, after verifying that the chain still contains that block.
 * @throws {ChainDiverged} when the chain does not contain that block any more
 */
function firstOfSecond(rpc: Rpc, block: ResumePoint): Promise<Header> {
  const explainBreak = breakExplainer(rpc, block)
  return rpc.ask(async (node) => {
    let first = await node.block(block.number)
    if (first.hash !== block.hash) await explainBreak()
    while (first.number > 0) {
      const before = await node.block(first.number - 1)
      if (before.hash !== first.parentHash) await explainBreak()
      if (before.ts !== first.ts) break
      first = before
    }
    return first
  })
}
