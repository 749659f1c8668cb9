import {
  type Address,
  decodeEventLog,
  type Hex,
  numberToHex,
  padHex,
  parseAbi,
  toEventSelector,
  zeroAddress,
} from 'viem'
import { inChunks } from '../rpc/arrays.ts'
import type { ChainLog } from '../rpc/block.ts'
import { contractCall } from '../rpc/calls/contract-call.ts'
import type { BlockState } from '../rpc/multicall.ts'
import type { LogFilter } from '../rpc/node.ts'
import type { PositionChange } from './venue.ts'

const nftAbi = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
  'function balanceOf(address owner) view returns (uint256)',
])

/** First topic of transfers of NFTs. */
export const nftTransferTopic: Hex = toEventSelector(nftAbi[0])

/** Maximum number of topics in a filter: providers accept some hundreds. */
export const maxTopics = 200

/** A contract whose positions are NFTs. */
export interface NftContract {
  readonly address: Address
  /** Prefix of each NFT's id, since NFTs of several contracts may have equal numbers. */
  readonly prefix: string
}

/** The parts of a venue that follow from ERC-721 alone. */
export function nftTransfers({ address, prefix }: NftContract) {
  const numberOf = (id: string): bigint => BigInt(id.slice(prefix.length))
  const topicsOf = (ids: readonly string[]): Hex[] => ids.map((id) => numberToHex(numberOf(id), { size: 32 }))
  return {
    numberOf,
    topicsOf,
    idOf: (number: bigint): string => `${prefix}${number}`,
    has: (id: string): boolean => id.startsWith(prefix) && /^\d+$/.test(id.slice(prefix.length)),
    readMove: ({ topics, data }: Pick<ChainLog, 'topics' | 'data'>): PositionChange => {
      const { args } = decodeEventLog({ abi: nftAbi, topics: topics as [Hex, ...Hex[]], data })
      return { kind: 'moved', id: `${prefix}${args.tokenId}`, from: args.from, to: args.to }
    },
    movesOf: (owners: readonly Address[]): LogFilter[] => {
      const padded = owners.map((owner) => padHex(owner, { size: 32 }))
      return inChunks(padded, maxTopics).flatMap((some): LogFilter[] => [
        { address, topics: [nftTransferTopic, some] },
        { address, topics: [nftTransferTopic, null, some] },
      ])
    },
    creationsOf: (ids: readonly string[]): LogFilter[] => {
      const nobody = padHex(zeroAddress, { size: 32 })
      return inChunks(topicsOf(ids), maxTopics).map((some) => ({
        address,
        topics: [nftTransferTopic, nobody, null, some],
      }))
    },
    count: async (state: BlockState, owner: Address): Promise<number> => {
      return Number(await state.readIfThere(contractCall(nftAbi, address, 'balanceOf', [owner]), 0n))
    },
  }
}
