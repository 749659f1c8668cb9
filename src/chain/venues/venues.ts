import { type Address, getAddress, type Hex } from 'viem'
import type { ChainLog } from '../rpc/block.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { LogFilter } from '../rpc/node.ts'
import type { Amounts } from './liquidity-math.ts'
import type {
  ChangeStates,
  Custody,
  Position,
  PositionChange,
  PositionCustody,
  StoredPosition,
  UnloggedChange,
  Venue,
} from './venue.ts'

/** All venues of a chain, behind one interface. */
export class Venues {
  constructor(readonly all: readonly Venue[]) {}

  get contracts(): Address[] {
    return this.all.flatMap(({ contracts }) => contracts)
  }

  get topics(): Hex[] {
    return this.all.flatMap(({ topics }) => topics)
  }

  /** Decodes a log; null where no venue recognises it as about a position. */
  decodeLog(log: ChainLog): PositionChange | null {
    const address = getAddress(log.address)
    // Several managers can share the contract that holds their liquidity.
    for (const venue of this.all) {
      const change = venue.contracts.includes(address) ? venue.decodeLog(log) : null
      if (change !== null) return change
    }
    return null
  }

  movesOf(owners: readonly Address[]): LogFilter[] {
    return this.all.flatMap((venue) => venue.movesOf(owners))
  }

  changesOf(ids: readonly string[]): LogFilter[] {
    return this.all.flatMap((venue) => venue.changesOf(ids.filter((id) => venue.has(id))))
  }

  creationsOf(ids: readonly string[]): LogFilter[] {
    return this.all.flatMap((venue) => venue.list?.creationsOf(ids.filter((id) => venue.has(id))) ?? [])
  }

  async locate(state: BlockState, ids: readonly string[]): Promise<void> {
    const located = this.all.flatMap(
      (venue) =>
        venue.locate?.(
          state,
          ids.filter((id) => venue.has(id)),
        ) ?? [],
    )
    await Promise.all(located)
  }

  readStored(state: BlockState, id: string): Promise<StoredPosition | null> {
    return this.#of(id).readStored(state, id)
  }

  positionOf(state: BlockState, id: string, stored: StoredPosition, custody?: Custody): Promise<Position> {
    return this.#of(id).positionOf(state, id, stored, custody)
  }

  /** Computes the amounts of a change whose log does not contain them; null where they are unknown. */
  async amountsOf(change: UnloggedChange, states: ChangeStates): Promise<Amounts | null> {
    return (await this.#of(change.id).amountsOf?.(change, states)) ?? null
  }

  /** Returns the custody of a position's venue; undefined where its positions are not taken into custody. */
  custodyOf(id: string): PositionCustody | undefined {
    return this.#of(id).custody
  }

  /** Reads the number of positions that the venues list for an owner. */
  async count(state: BlockState, owner: Address): Promise<number> {
    const lists = this.all.flatMap(({ list }) => list ?? [])
    const counts = await Promise.all(lists.map((list) => list.count(state, owner)))
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Returns whether {@link count} includes a position. */
  lists(id: string): boolean {
    return this.#of(id).list !== undefined
  }

  #of(id: string): Venue {
    const venue = this.all.find((one) => one.has(id))
    if (venue === undefined) throw new Error(`Position ${id} is of no venue`)
    return venue
  }
}
