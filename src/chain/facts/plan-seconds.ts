import type { Address } from '../../domain/address.ts'
import { type BlockPlan, hasFacts, planBlocks, withoutApplied } from './block-plan.ts'
import type { VaultConfig } from '../config.ts'
import { Contradiction } from '../errors.ts'
import type { BlockRange } from '../follow.ts'
import { groupBy } from '../rpc/arrays.ts'
import { type Header, requireTimeOrder } from '../rpc/block.ts'
import type { SecondBlocks } from './second-facts.ts'
import type { ReadAttempt, Reading } from '../reading.ts'
import { type ArrivalOptions, readArrivals } from '../positions/arrivals.ts'
import { readCustodyMoves } from '../positions/custody.ts'
import type { VaultHoldings } from '../positions/holding.ts'
import type { Holdings } from '../positions/holdings.ts'

/** Options of {@link planSeconds}. */
export interface SecondsOptions extends Pick<Reading, 'isApplied'>, Pick<ReadAttempt, 'blamesContract'> {
  readonly vaults: readonly VaultConfig[]
  readonly markEveryBlocks: number
}

/**
 * Returns the seconds of a range that have facts.
 * @throws {Contradiction} when logs are of another fork or can't be decoded, or time goes back from one block to a later one
 */
export async function planSeconds(
  range: BlockRange,
  holdings: Holdings,
  chain: ArrivalOptions,
  { vaults, markEveryBlocks, isApplied, blamesContract }: SecondsOptions,
): Promise<SecondBlocks[]> {
  const known = new Map(range.headers)
  const headerAt = async (number: number): Promise<Header> => {
    const header = known.get(number) ?? (await chain.rpc.ask((node) => node.block(number)))
    known.set(number, header)
    return header
  }
  const { number, parentHash } = await headerAt(range.from)
  const before = { number: number - 1, hash: parentHash }
  const bounds = { before, end: await headerAt(range.to), headerAt }
  holdings.expect(await readArrivals(range.logs, holdings, bounds, chain))
  holdings.expectCustody(await readCustodyMoves(range.logs, holdings, headerAt, chain))
  const plans = planBlocks(range, { vaults, markEveryBlocks, holdings })
  if (!blamesContract) requireDecoded(plans)
  const placed = await Promise.all(
    plans.filter(hasFacts).map(async (plan) => ({ plan, header: await headerAt(plan.number) })),
  )
  // All logs, not only those of events: a new owner or a request of a fork counts as little.
  for (const { block, blockHash } of range.logs) {
    const header = known.get(block)
    if (header === undefined || header.hash === blockHash) continue
    throw new Contradiction(`block ${block} is ${header.hash}, ${blockHash} by the logs`)
  }
  const inOrder = [...known.values()].sort((a, b) => a.number - b.number)
  inOrder.forEach((header, index) => requireTimeOrder(inOrder[index - 1] ?? header, header))
  const left = placed.flatMap(({ plan, header }): { plan: BlockPlan; header: Header }[] => {
    const rest = withoutApplied(plan, (vault) => isApplied(vault, header.ts))
    return rest === null ? [] : [{ plan: rest, header }]
  })
  const planOf = new Map(plans.map((plan) => [plan.number, plan]))
  const seconds = [...groupBy(left, ({ header }) => header.ts).values()]
  return Promise.all(
    seconds.map(async (blocks) => {
      let end = (blocks.at(-1) as (typeof blocks)[number]).header
      for (let next = await headerAt(end.number + 1); next.ts === end.ts; next = await headerAt(end.number + 1))
        end = next
      const marked = heldAtEnd(blocks, end, planOf, ({ marked }) => marked)
      const minting = heldAtEnd(blocks, end, planOf, ({ minting }) => minting)
      return { blocks, end, marked, minting: new Map([...minting].filter(([vault]) => !marked.has(vault))) }
    }),
  )
}

function requireDecoded(plans: readonly BlockPlan[]): void {
  for (const [vault, { message }] of plans.flatMap(({ faults }) => [...faults])) throw new Contradiction(message, vault)
}

/**
 * Returns vaults of the blocks of a second with their positions at its end: a later block of the second may change
 * positions without a fact, for example a position in unknown tokens.
 */
function heldAtEnd(
  blocks: SecondBlocks['blocks'],
  end: Header,
  planOf: ReadonlyMap<number, BlockPlan>,
  vaultsOf: (plan: BlockPlan) => ReadonlyMap<Address, VaultHoldings>,
): Map<Address, VaultHoldings> {
  const found = new Map(blocks.flatMap(({ plan }) => [...vaultsOf(plan)]))
  for (let number = blocks[0]?.plan.number ?? end.number; number <= end.number; number++) {
    for (const [vault, held] of planOf.get(number)?.changed ?? []) if (found.has(vault)) found.set(vault, held)
  }
  return found
}
