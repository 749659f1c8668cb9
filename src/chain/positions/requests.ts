import { getAddress } from 'viem'
import type { VaultConfig } from '../config.ts'
import { aboutVault } from '../vault-groups/set-aside.ts'
import { groupBy, inChunks } from '../rpc/arrays.ts'
import type { Header } from '../rpc/block.ts'
import { readLogRange } from '../rpc/log-ranges.ts'
import { BlockState, type Multicall } from '../rpc/multicall.ts'
import { maxAddresses } from '../rpc/node.ts'
import type { Rpc } from '../rpc/rpc.ts'
import { requestTopics, takesRequests } from '../vaults/erc7540.ts'
import type { VaultKinds } from '../vaults/vault-kinds.ts'
import type { Holdings } from './holdings.ts'

/** Options of {@link applyRequests}. */
export interface RequestsOptions {
  readonly rpc: Rpc
  readonly multicall: Multicall
  readonly kinds: VaultKinds
  readonly vaults: readonly Pick<VaultConfig, 'address' | 'firstBlock'>[]
}

/**
 * Adds the deposit requests to vaults up to the end of a block, where they take requests at it: only logs list them.
 * @throws {ContractMismatch} with the vault, when it has logged a request in another form than the standard's
 */
export async function applyRequests(
  holdings: Holdings,
  block: Pick<Header, 'number' | 'hash'>,
  { rpc, multicall, kinds, vaults }: RequestsOptions,
): Promise<void> {
  const state = new BlockState(rpc, multicall, block)
  const taking = await Promise.all(
    vaults.map(async ({ address, firstBlock }) => {
      const { adapter } = kinds.of(address)
      const mayTake = firstBlock <= block.number && requestTopics.some((topic) => adapter.topics.includes(topic))
      return mayTake && (await takesRequests(state, address))
    }),
  )
  const withRequests = vaults.filter((_, index) => taking[index])
  if (withRequests.length === 0) return
  const addresses = withRequests.map(({ address }) => address)
  const filters = inChunks(addresses, maxAddresses).map((address) => ({ address, topics: [requestTopics] }))
  const first = Math.min(...withRequests.map(({ firstBlock }) => firstBlock))
  const byVault = readLogRange(rpc, filters, first, block.number).then((logs) =>
    groupBy(logs, (log) => getAddress(log.address)),
  )
  const addRequests = async ({ address, firstBlock }: (typeof withRequests)[number]): Promise<void> => {
    const { adapter } = kinds.of(address)
    for (const log of (await byVault).get(address) ?? []) {
      const change = log.block < firstBlock ? null : adapter.decodeLog(log)
      if (change?.kind === 'requested') holdings.addRequest(address, change.request)
    }
  }
  await Promise.all(withRequests.map((vault) => aboutVault(vault.address, addRequests(vault))))
}
