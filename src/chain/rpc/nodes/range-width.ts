import { getLogsRetryHelper } from '@ponder/utils'
import { BaseError, numberToHex, type RpcError } from 'viem'
import { findTooLong, isRefusedForNumber } from '../faults.ts'

const firstBlocks = 1_000
const maxBlocks = 10_000
/** After so many answers a width is tried that was refused before. */
const answersBeforeTrial = 50
/**
 * A refusal of a range for its width, in the words of any provider; not one for blocks that the node does not have.
 * @see go-ethereum, Besu, Nethermind, Erigon; QuickNode, Chainstack, Polygon, BNB Chain
 */
const tooWideText =
  /^(?=.*(?<!out of )\branges?\b)(?=.*(?:limit|max|large|wide|exceed|greater|up to|not supported|reduc))/i
/** An outage of a provider, which @ponder/utils mistakes for a range that is too wide. */
const outageText = 'no backend is currently healthy'

/** Adapts the number of blocks in a log request to the limits of the nodes. */
export class RangeWidth {
  blocks: number
  /** Whether answers about ranges are complete: some nodes cut long ones off without an error. */
  isTrusted = true
  /** Upper limit of the width: after a refusal, the last reduced width. */
  #ceiling: number
  #most: number
  #answers = 0

  /** @param most greatest width in blocks; wider than usual for filters that match few logs in any range */
  constructor(most = maxBlocks) {
    this.blocks = Math.min(firstBlocks, most)
    this.#ceiling = most
    this.#most = most
  }

  /** Doubles the width after a success; a width that was refused is tried again only after many answers. */
  grow(): void {
    if (++this.#answers >= answersBeforeTrial) {
      this.#ceiling = Math.min(this.#most, this.#ceiling * 2)
      this.#answers = 0
    }
    this.blocks = Math.min(this.#ceiling, this.blocks * 2)
  }

  /**
   * Reduces the width after an error: to the provider's suggestion, or to half.
   * @param requested number of blocks of the request
   * @returns whether the provider has refused the range, so that a smaller one can be requested immediately
   */
  shrink(error: unknown, requested: number): boolean {
    const params = [{ fromBlock: numberToHex(1), toBlock: numberToHex(requested) }] as const
    const advice = getLogsRetryHelper({ params: [...params], error: error as RpcError })
    const [first] = advice.shouldRetry && advice.isSuggestedRange ? advice.ranges : []
    const half = Math.floor(requested / 2)
    const advised = first === undefined ? half : Number(first.toBlock) - Number(first.fromBlock) + 1
    this.blocks = Math.max(1, Math.min(advised, this.blocks))
    const isTooWide = error instanceof BaseError && tooWideText.test(error.details)
    const isTooMuch = isTooWide || isRefusedForNumber(error) || findTooLong(error) !== null
    const isRefused = (advice.shouldRetry || isTooMuch) && !String(error).includes(outageText)
    // An unusual width may fail with any text, reach blocks whose logs are pruned, or time out.
    if (!isRefused && requested <= maxBlocks) return false
    this.#ceiling = this.blocks
    this.#answers = 0
    return isRefused && this.blocks < requested
  }

  /** Halves the width after an answer that was cut off. */
  halve(requested: number): void {
    this.blocks = this.#ceiling = Math.max(1, Math.floor(requested / 2))
    this.#answers = 0
  }

  /** Reads the logs of each block by its hash from now on; returns false where this was so already. */
  distrust(): boolean {
    const wasTrusted = this.isTrusted
    this.isTrusted = false
    this.#most = this.#ceiling = this.blocks = firstBlocks
    return wasTrusted
  }
}
