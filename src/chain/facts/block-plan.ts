import { type Address, getAddress } from 'viem'
import { type ChainLog, compareLogs } from '../rpc/block.ts'
import type { VaultConfig } from '../config.ts'
import type { BlockRange } from '../follow.ts'
import { groupBy } from '../rpc/arrays.ts'
import { type VaultFault, VaultFaults } from '../vault-groups/set-aside.ts'
import type { PositionEvent, VaultHoldings } from '../positions/holding.ts'
import type { Holdings } from '../positions/holdings.ts'
import type { VaultChange } from '../vaults/vault-adapter.ts'
import { mayMintFees, withoutDepositMints } from '../vaults/vault-fees.ts'

/** A change that a vault's own log reports. */
export interface VaultEvent {
  readonly vault: Address
  readonly change: VaultChange
  readonly log: ChainLog
}

/** A deposit or withdrawal that a vault's own log reports. */
export interface FlowEvent extends VaultEvent {
  readonly change: Extract<VaultChange, { kind: 'deposited' | 'withdrawn' }>
}

/** Returns whether an event is a deposit or withdrawal. */
export function isFlow(event: VaultEvent | PositionEvent): event is FlowEvent {
  return 'change' in event && ['deposited', 'withdrawn'].includes(event.change.kind)
}

/** Changes that a vault's other contracts log, too; not ownership, since these contracts have separate owners. */
const kindsOfOthers: readonly VaultChange['kind'][] = ['paused', 'unpaused', 'charged', 'earned']

/** A block with facts to read, or with changes of the vaults' holdings. */
export interface BlockPlan {
  readonly number: number
  readonly opened: readonly VaultConfig[]
  readonly events: readonly (VaultEvent | PositionEvent)[]
  /** The vaults to value at its end, with the positions that they hold then. */
  readonly marked: ReadonlyMap<Address, VaultHoldings>
  /** The vaults about which the block has no other logs than mints: valued at its end where these are fees. */
  readonly minting: ReadonlyMap<Address, VaultHoldings>
  /** The vaults whose holdings the block changes in any way, with the positions that they hold at its end. */
  readonly changed: ReadonlyMap<Address, VaultHoldings>
  /** Positions and requests before the block, of older vaults with deposits or withdrawals in it. */
  readonly heldBefore: ReadonlyMap<Address, VaultHoldings>
  /** New owners of vaults. */
  readonly owners: ReadonlyMap<Address, Address>
  /** The vaults whose logs cannot be read. */
  readonly faults: ReadonlyMap<Address, VaultFault>
}

/** Options of {@link planBlocks}. */
export interface BlockPlanOptions {
  readonly vaults: readonly VaultConfig[]
  readonly markEveryBlocks: number
  readonly holdings: Holdings
}

/**
 * Returns the blocks of a range that have facts: where vaults start, with logs about vaults, and each multiple of
 * `markEveryBlocks`. Blocks that only change holdings are included, because marks of the same second need them. A vault
 * is marked at the end of each block with logs about it, except mints of shares that are not a fee.
 */
export function planBlocks(range: BlockRange, options: BlockPlanOptions): BlockPlan[] {
  const { vaults, holdings, markEveryBlocks } = options
  const plans: BlockPlan[] = []
  const logs = groupBy(range.logs, ({ block }) => block)
  for (const number of numbersOf(range, options, logs.keys())) {
    const there = vaults.filter(({ firstBlock }) => firstBlock <= number)
    const { touched, minting, changed, heldBefore, owners, ...read } = decodeLogs(
      logs.get(number) ?? [],
      there,
      options,
    )
    const isScheduled = number % markEveryBlocks === 0
    const isMarked = ({ address }: VaultConfig): boolean => isScheduled || touched.has(address)
    const held = (some: readonly VaultConfig[]) => new Map(some.map(({ address }) => [address, holdings.of(address)]))
    plans.push({
      number,
      opened: vaults.filter(({ firstBlock }) => firstBlock === number),
      ...read,
      marked: held(there.filter(isMarked)),
      minting: held(there.filter((vault) => minting.has(vault.address) && !isMarked(vault))),
      changed: new Map([...changed].map((vault) => [vault, holdings.of(vault)])),
      heldBefore: new Map([...heldBefore].filter(([vault]) => there.some(isOlder(vault, number)))),
      // The first owner is in the vault fact.
      owners: new Map(owners.filter(([vault]) => there.some(isOlder(vault, number)))),
    })
  }
  return plans.filter((plan) => hasFacts(plan) || plan.changed.size > 0)
}

/** Returns a plan without the events and marks that are already applied; null where no facts remain. */
export function withoutApplied(plan: BlockPlan, isApplied: (vault: Address) => boolean): BlockPlan | null {
  const left = {
    ...plan,
    events: plan.events.filter(({ vault }) => !isApplied(vault)),
    marked: new Map([...plan.marked].filter(([vault]) => !isApplied(vault))),
    minting: new Map([...plan.minting].filter(([vault]) => !isApplied(vault))),
    owners: new Map([...plan.owners].filter(([vault]) => !isApplied(vault))),
    faults: new Map([...plan.faults].filter(([vault]) => !isApplied(vault))),
  }
  return hasFacts(left) ? left : null
}

/** Returns whether a block has facts, or mints that may be fees. */
export function hasFacts({ opened, marked, minting, owners, faults }: BlockPlan): boolean {
  return opened.length > 0 || [marked, minting, owners, faults].some(({ size }) => size > 0)
}

function isOlder(vault: Address, block: number): (one: VaultConfig) => boolean {
  return ({ address, firstBlock }) => address === vault && firstBlock < block
}

function numbersOf(
  { from, to }: BlockRange,
  { vaults, markEveryBlocks }: BlockPlanOptions,
  logs: Iterable<number>,
): number[] {
  const numbers = new Set(logs)
  for (const { firstBlock } of vaults) if (firstBlock >= from && firstBlock <= to) numbers.add(firstBlock)
  for (let number = Math.ceil(from / markEveryBlocks) * markEveryBlocks; number <= to; number += markEveryBlocks) {
    numbers.add(number)
  }
  return [...numbers].sort((a, b) => a - b)
}

function decodeLogs(
  logs: readonly ChainLog[],
  vaults: readonly VaultConfig[],
  { holdings }: Pick<BlockPlanOptions, 'holdings'>,
) {
  const there = new Set(vaults.map(({ address }) => address))
  const emitters = new Map(
    vaults.flatMap(({ address }) =>
      holdings.kinds.emittersOf(address).map((one): [Address, Address] => [one, address]),
    ),
  )
  const faults = new VaultFaults()
  const changes = logs.flatMap((log): VaultEvent[] => {
    const vault = emitters.get(getAddress(log.address))
    if (vault === undefined) return []
    const change = faults.in(vault, () => holdings.kinds.of(vault).adapter.decodeLog(log))
    if (change === null || (change.kind === 'minted' && !mayMintFees(holdings.kinds, vault))) return []
    const isOwn = getAddress(log.address) === vault
    return isOwn || kindsOfOthers.includes(change.kind) ? [{ vault, change, log }] : []
  })
  const owners = changes.flatMap(({ vault, change }): [Address, Address][] =>
    change.kind === 'owned' ? [[vault, change.owner]] : [],
  )
  const asking = changes.flatMap(({ vault, change }) => (change.kind === 'requested' ? [{ vault, ...change }] : []))
  const rest = changes.filter(({ change }) => change.kind !== 'owned' && change.kind !== 'requested')
  const ofVaults = [...groupBy(rest, ({ vault }) => vault).values()].flatMap(withoutDepositMints)
  const heldBefore = new Map(ofVaults.filter(isFlow).map(({ vault }) => [vault, holdings.of(vault)]))
  for (const { vault, request } of asking) holdings.addRequest(vault, request)
  const ofPositions = holdings.applyLogs(logs)
  // An address can hold positions before its vault is created.
  const ofThere = ofPositions.events.filter(({ vault }) => there.has(vault))
  const events = [...ofVaults, ...ofThere].sort((a, b) => compareLogs(a.log, b.log))
  const minting = new Set(ofVaults.filter(({ change }) => change.kind === 'minted').map(({ vault }) => vault))
  const others = ofVaults.filter(({ change }) => change.kind !== 'minted').map(({ vault }) => vault)
  const touched = new Set([...others, ...ofPositions.touched])
  const changed = new Set([...asking.map(({ vault }) => vault), ...ofPositions.changed])
  return { events, owners, touched, minting, changed, heldBefore, faults: faults.found }
}
