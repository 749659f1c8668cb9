import { getAddress } from 'viem'
import { compared, minus, nothing, plainText, rational, textOf } from './rational.ts'
import { type Kind, netOf, type Point, type VaultFold } from './vault-model.ts'
import type { WorldModel } from './world-model.ts'

/* The expected responses of the gateway by the model, with numbers as the text of their decimals. */

const usd = (value: Parameters<typeof textOf>[0]): string => textOf(value, 6)

/** Returns the snapshot of a vault, as REST serves it. */
export function snapshotOf(model: WorldModel, address: string, at?: number): object | null {
  const vault = model.vault(address, at)
  if (vault === undefined) return null
  const netUsd = netOf(vault)
  return {
    vault: address,
    owner: getAddress(vault.owner),
    status: statusOf(vault),
    strategy: model.historyOf(address)?.[0].strategy,
    valueUsd: usd(vault.valueUsd),
    capitalInUsd: usd(vault.capitalInUsd),
    capitalOutUsd: usd(vault.capitalOutUsd),
    netUsd: usd(netUsd),
    strategyDeltaUsd: usd(minus(netUsd, vault.marketDeltaUsd)),
    marketDeltaUsd: usd(vault.marketDeltaUsd),
    positions: vault.positions.map(positionOf),
    fees: feesOf(vault),
    suspension: vault.suspension && { ...shownSuspension(vault.suspension), exitsAvailable: true },
    updatedAt: String(vault.updatedAt),
  }
}

function shownSuspension({ reason, since }: { reason: string; since: number }) {
  return { reason, since: String(since) }
}

function statusOf({ valueUsd, phase, suspension, positions }: VaultFold): string {
  if (suspension !== null) return 'suspended'
  if (phase !== null) return phase
  if (positions.length === 0) return compared(valueUsd, nothing) === 0 ? 'idle' : 'planting'
  return positions.every(isInRange) ? 'earning' : 'attention'
}

type Position = Kind<'mark'>['positions'][number]

function isInRange({ range, ticks }: Position): boolean {
  if (ticks !== undefined) return ticks.lower <= ticks.current && ticks.current < ticks.upper
  const [lower, upper, current] = [rational(range.lower), rational(range.upper), rational(range.current)]
  return compared(lower, current) <= 0 && compared(current, upper) < 0
}

function positionOf(position: Position) {
  const { id, pool, range, pendingRewardsUsd } = position
  return {
    id,
    pool: { ...pool, feeTier: String(pool.feeTier) },
    range: { lower: servedPrice(range.lower), upper: servedPrice(range.upper), current: servedPrice(range.current) },
    inRange: isInRange(position),
    pendingRewardsUsd: plainText(pendingRewardsUsd),
  }
}

/** Prices are served as the nearest floats, unlike amounts in USD. */
const servedPrice = (text: string): string => plainText(String(Number(text)))

/** Returns the ticks of a vault's positions, which GraphQL alone serves. */
export function ticksOf({ positions }: VaultFold): object[] {
  return positions.map(({ id, ticks }) => ({
    positionId: id,
    ticks:
      ticks === undefined
        ? null
        : { lower: String(ticks.lower), upper: String(ticks.upper), current: String(ticks.current) },
  }))
}

function feesOf({ toldFees, capitalInUsd, capitalOutUsd, taxedUsd, highWaterUsd }: VaultFold): object {
  return {
    contributedUsd: usd(toldFees?.contributedUsd ?? capitalInUsd),
    withdrawnUsd: usd(toldFees?.withdrawnUsd ?? capitalOutUsd),
    taxedUsd: usd(toldFees?.taxedUsd ?? taxedUsd),
    highWaterUsd: usd(highWaterUsd),
  }
}

/** Returns all points of a vault, oldest first, with their two parts as GraphQL serves them. */
export function pointsOf(model: WorldModel, address: string, at?: number): Record<string, string>[] {
  const points: [number, Point][] = [...(model.vault(address, at)?.points ?? [])].sort(([a], [b]) => a - b)
  return points.map(([ts, point]) => ({
    ts: String(ts),
    valueUsd: usd(point.valueUsd),
    capitalInUsd: usd(point.capitalInUsd),
    capitalOutUsd: usd(point.capitalOutUsd),
    netUsd: usd(netOf(point)),
    marketDeltaUsd: usd(point.marketDeltaUsd),
    strategyDeltaUsd: usd(minus(netOf(point), point.marketDeltaUsd)),
  }))
}

/** Returns the ledger of a vault, newest first, as REST serves it. */
export function ledgerOf(model: WorldModel, address: string, at = Infinity): Record<string, string | null>[] {
  const [, ...facts] = model.historyOf(address) ?? []
  return facts
    .flatMap((fact) => (fact.kind === 'event' && fact.ts <= at ? [fact] : []))
    .sort((a, b) => b.block - a.block || b.logIndex - a.logIndex || (a.txHash < b.txHash ? 1 : -1))
    .map((fact) => ({
      txHash: fact.txHash.toLowerCase(),
      logIndex: String(fact.logIndex),
      block: String(fact.block),
      ts: String(fact.ts),
      type: fact.type,
      amountUsd: 'amountUsd' in fact && fact.amountUsd !== undefined ? plainText(fact.amountUsd) : null,
      positionId: 'positionId' in fact ? fact.positionId : null,
      reason: 'reason' in fact ? fact.reason : null,
    }))
}

/** Returns the universe as REST serves it. */
export function universeOf({ screen }: WorldModel): { assets: object[]; pairs: object[] } {
  return {
    assets: (screen?.assets ?? []).map((asset) => ({ ...asset, liquidityUsd: plainText(asset.liquidityUsd) })),
    pairs: (screen?.pairs ?? []).map((pair) => ({ ...pair, tvlUsd: plainText(pair.tvlUsd) })),
  }
}

/** Returns the catalogue without figures. */
export function catalogueOf(model: WorldModel): object[] {
  return [...model.strategies.keys()].map((id) => {
    const { name, tagline, description } = model.newest(id) ?? {}
    const pairs = Object.entries(model.screen?.strategies ?? {}).find(([of]) => of === id)?.[1] ?? []
    return { id, name, tagline, description, pairs }
  })
}
