import { z } from 'zod'
import { type Address, toAddress } from '../../domain/address.ts'
import { assetCategories } from '../../domain/universe.ts'
import { type Decimal, fineDigits, usdDigits, usdScale } from '../../domain/decimal.ts'
import { isVaultScopedId } from '../../domain/identity/global-id.ts'
import { maxUnixTime } from '../../limits.ts'
import { decimal } from './decimal-text.ts'
import { formatValue } from './format-value.ts'

export const maxInt32 = 2_147_483_647
/** 100 %, in hundredths of a basis point. */
export const maxFeeTier = 1_000_000
export const maxNameCharacters = 200

/** Digits of USD amounts, and of prices. */
export const usdBounds = { integerDigits: usdDigits, decimals: usdScale }
export const priceBounds = { integerDigits: 60, decimals: 18 }

const usd = decimal(usdBounds)
const fine = decimal({ integerDigits: fineDigits, decimals: 18 })
const price = decimal(priceBounds)

const integer = (min: number, max: number) => z.number().int().min(min).max(max)
const seconds = integer(0, maxUnixTime)
const tick = integer(-maxInt32, maxInt32)

/** PostgreSQL cannot store NUL, and UTF-8 cannot encode a lone surrogate. */
const text = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes('\0'), 'holds a NUL or half a surrogate pair')

const name = text(1, maxNameCharacters)
const prose = text(0, 10_000)
const address = z.string().transform((value, context) => {
  try {
    return toAddress(value)
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message })
    return z.NEVER
  }
})
const txHash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'is not 0x and 64 hex digits')
  .transform((value) => value.toLowerCase())

const prices = z.record(name, price)
const pair = { a: name, b: name, venues: z.array(name) }

/** Requires that no two entries of an array share a key. */
const uniqueBy = <Key extends string>(key: Key, what: string) =>
  function check(entries: Record<Key, unknown>[], context: z.RefinementCtx): void {
    const seen = new Set<unknown>()
    entries.forEach((entry, index) => {
      if (seen.has(entry[key])) {
        context.addIssue({ code: 'custom', path: [index, key], message: `is that of another ${what} too` })
      }
      seen.add(entry[key])
    })
  }

/** Ids are unique across strategies, vaults, positions and ledger rows, whatever the case of their hex digits. */
const strategyId = name.superRefine((id, context) => {
  if (!isVaultScopedId(id)) return
  const message = `is ${formatValue(id)}, which has the form of the id of a vault, a position or a ledger row: a strategy's id is no address, and does not begin with one and a slash`
  context.addIssue({ code: 'custom', message })
})

/** Schema of the facts of strategies. */
export const strategySchema = z.strictObject({
  kind: z.literal('strategy'),
  ts: seconds,
  id: strategyId,
  name: name,
  tagline: prose,
  description: prose,
})

const screen = z.strictObject({
  kind: z.literal('screen'),
  ts: seconds,
  assets: z
    .array(
      z.strictObject({
        symbol: name,
        name: name,
        category: z.enum(assetCategories),
        venues: z.array(name),
        liquidityUsd: usd,
      }),
    )
    .superRefine(uniqueBy('symbol', 'asset')),
  pairs: z.array(z.strictObject({ ...pair, tvlUsd: usd, emissions: z.boolean() })),
  strategies: z.record(name, z.array(z.strictObject(pair))),
})

const vault = z.strictObject({
  kind: z.literal('vault'),
  ts: seconds,
  vault: address,
  owner: address,
  strategy: name,
  chainId: integer(1, Number.MAX_SAFE_INTEGER).optional(),
})

const owner = z.strictObject({ kind: z.literal('owner'), ts: seconds, vault: address, owner: address })

const lowerNotAbove = <Value>(notAfter: (lower: Value, upper: Value) => boolean) =>
  function check(range: { lower: Value; upper: Value }, context: z.RefinementCtx): void {
    if (notAfter(range.lower, range.upper)) return
    context.addIssue({ code: 'custom', path: ['lower'], message: 'is above upper' })
  }

const position = z.strictObject({
  id: name,
  pool: z.strictObject({ a: name, b: name, venue: name, feeTier: integer(0, maxFeeTier) }),
  range: z
    .strictObject({ lower: price, upper: price, current: price })
    .superRefine(lowerNotAbove((lower, upper) => lower.lessThanOrEqualTo(upper))),
  ticks: z
    .strictObject({ lower: tick, upper: tick, current: tick })
    .superRefine(lowerNotAbove((lower, upper) => lower <= upper))
    .optional(),
  pendingRewardsUsd: usd,
})

const markKeys = z.strictObject({
  kind: z.literal('mark'),
  ts: seconds,
  vault: address,
  valueUsd: usd,
  prices,
  positions: z.array(position).superRefine(uniqueBy('id', 'position')),
  fees: z.strictObject({ contributedUsd: usd, withdrawnUsd: usd, taxedUsd: usd, highWaterUsd: usd }).optional(),
  highWaterValueUsd: usd.optional(),
})
const mark = markKeys.superRefine(({ fees, highWaterValueUsd }, context) => {
  if (fees === undefined || highWaterValueUsd === undefined) return
  context.addIssue({ code: 'custom', path: ['highWaterValueUsd'], message: 'is there beside fees, which tells it too' })
})

const event = {
  kind: z.literal('event'),
  ts: seconds,
  vault: address,
  block: integer(0, Number.MAX_SAFE_INTEGER),
  txHash,
  logIndex: integer(0, maxInt32),
}

const eventFact = z.discriminatedUnion('type', [
  z.strictObject({
    ...event,
    type: z.literal('deposit'),
    amountUsd: usd,
    assets: z.array(z.strictObject({ symbol: name, amount: fine })),
    valueBeforeUsd: usd,
    prices,
  }),
  z.strictObject({ ...event, type: z.literal('withdraw'), amountUsd: usd, valueBeforeUsd: usd, prices }),
  z.strictObject({ ...event, type: z.literal('plant'), positionId: name }),
  z.strictObject({ ...event, type: z.literal('exit'), positionId: name }),
  z.strictObject({ ...event, type: z.literal('rebalance'), positionId: name, amountUsd: usd.optional() }),
  z.strictObject({ ...event, type: z.literal('harvest'), positionId: name, amountUsd: usd.optional() }),
  z.strictObject({ ...event, type: z.literal('fee'), amountUsd: usd }),
  z.strictObject({ ...event, type: z.literal('suspend'), reason: prose }),
  z.strictObject({ ...event, type: z.literal('resume') }),
])

/** Schema of the six kinds of fact. */
export const factSchema = z.discriminatedUnion('kind', [strategySchema, screen, vault, owner, mark, eventFact])

/** A validated fact: addresses checksummed, hashes in lower case, amounts as exact decimals. */
export type Fact = z.output<typeof factSchema>
/** Publishes or updates a strategy of the catalogue. */
export type StrategyFact = z.output<typeof strategySchema>
/** Replaces the universe and the live pairs of strategies. */
export type ScreenFact = z.output<typeof screen>
/** Opens a vault. */
export type VaultFact = z.output<typeof vault>
/** Sets the owner of a vault from `ts` on. */
export type OwnerFact = z.output<typeof owner>
/** Values a vault and states its positions. */
export type MarkFact = z.output<typeof mark>
/** An on-chain event of a vault. */
export type EventFact = z.output<typeof eventFact>
/** Discriminator of facts. */
export type FactKind = Fact['kind']
export const factKinds: readonly FactKind[] = ['strategy', 'screen', 'vault', 'owner', 'event', 'mark']

/** A fact as a producer writes it: decimals as text. */
export type FactInput = AsInput<z.output<typeof factSchema>>

type AsInput<Value> = Value extends Decimal | Address
  ? string
  : Value extends readonly (infer Item)[]
    ? AsInput<Item>[]
    : Value extends object
      ? { [Key in keyof Value]: AsInput<Value[Key]> }
      : Value
