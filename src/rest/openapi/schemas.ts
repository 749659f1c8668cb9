import { maxUnixTime } from '../../limits.ts'
import { AssetCategory, EventType, VaultStatus } from '../documents.generated.ts'
import { enumTexts } from '../enum-text.ts'

/** The subset of JSON Schema 2020-12 that the interface uses; OpenAPI 3.1 includes it. */
export interface Schema {
  readonly type: string | readonly string[]
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly enum?: readonly string[]
  readonly const?: unknown
  readonly default?: unknown
  readonly pattern?: string
  readonly minLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** Creates an object schema. All of its properties are required; further ones may be added in later versions. */
export function object(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', description, properties, required: Object.keys(properties) }
}

/** Creates an array schema. */
export function list(description: string, items: Schema): Schema {
  return { type: 'array', description, items }
}

/** Creates a string schema. */
export function text(description: string, example: string): Schema {
  return { type: 'string', description, examples: [example] }
}

/** Creates a schema of a non-negative integer. */
export function integer(description: string, example: number): Schema {
  return { type: 'integer', description, minimum: 0, examples: [example] }
}

/** Creates a schema of a time in Unix seconds. */
export function timeSchema(description: string, example: number): Schema {
  return { ...integer(description, example), maximum: maxUnixTime }
}

/** Creates a schema of an enum, in the texts of the interface. */
export function oneOf(description: string, values: Readonly<Record<string, string>>, example: string): Schema {
  return { ...text(description, example), enum: enumTexts(values) }
}

function number(description: string, example: number): Schema {
  return { type: 'number', description, examples: [example] }
}

function hex(digits: number, description: string, example: string): Schema {
  return { ...text(description, example), pattern: `^0x[0-9a-fA-F]{${digits}}$` }
}

/** Creates a schema of an EVM address. */
export function address(description: string, example: string): Schema {
  return hex(40, description, example)
}

function orNull(schema: Schema): Schema {
  return { ...schema, type: [schema.type, 'null'].flat() }
}

/** Returns an example of a schema, composed of the examples of its properties. */
export function exampleOf({ properties, items, examples, const: only }: Schema): unknown {
  if (properties !== undefined) {
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, exampleOf(field)]))
  }
  // A list of strings has its own example; a list of objects uses that of its items.
  if (examples !== undefined) return examples[0]
  return items === undefined ? only : [exampleOf(items)]
}

const venues: Schema = {
  ...list('Where it is traded.', { type: 'string' }),
  examples: [['uniswap-v3', 'aerodrome']],
}

const position = object('An open position of a vault, as its newest mark shows it.', {
  id: text('Identifier of the position.', 'first-1'),
  pool: object('Where it provides liquidity.', {
    a: text('Symbol of the base asset.', 'WETH'),
    b: text('Symbol of the quote asset.', 'USDC'),
    venue: text('Where the pool is.', 'uniswap-v3'),
    feeTier: integer("The pool's fee in hundredths of a basis point: 500 is 0.05 %.", 500),
  }),
  range: object('Its bounds and the market, as prices: units of b for one a.', {
    lower: number('Lower bound.', 1727.837754),
    upper: number('Upper bound.', 2879.72959),
    current: number("The pool's price at the newest mark.", 2660.228982),
  }),
  inRange: { type: 'boolean', description: 'Whether lower <= current < upper.', examples: [true] },
  pendingRewardsUsd: number('Rewards not collected yet, in USD.', 4729.963824),
})

const suspension = object('The suspension of the vault; null if it is not suspended.', {
  reason: text('Why the vault was suspended.', 'oracle deviation above 2 %'),
  since: timeSchema('Since when, in Unix seconds.', 1767207600),
  exitsAvailable: { type: 'boolean', const: true, description: 'Always true: exits remain possible while suspended.' },
})

/** Schema of a vault snapshot. */
export const snapshot = object('Value, capital flows, gain, status and positions of a vault.', {
  vault: address('Address of the vault, checksummed.', '0xF7bF36DFf1b98C50De0dA7DA76f94a4A8d06741A'),
  owner: address("Address of the vault's owner, checksummed.", '0xa8E3c1077D9809E2499718202DBee2f1D7354bE6'),
  status: oneOf(
    'The first that applies: suspended; exiting, planting (an event started it and it has not ended); ' +
      'idle (no value, no position); planting (value, no position yet); attention (a position out of range); earning.',
    VaultStatus,
    'suspended',
  ),
  strategy: text('Identifier of the strategy it runs.', 'eth-core'),
  valueUsd: number('Its value, in USD.', 373906.197142),
  capitalInUsd: number('Capital deposited so far, in USD.', 342151.34688),
  capitalOutUsd: number('Capital withdrawn so far, in USD.', 0),
  netUsd: number('Gain net of flows, in USD: valueUsd + capitalOutUsd - capitalInUsd, exactly.', 31754.850262),
  strategyDeltaUsd: number("The strategy's part of netUsd, in USD: the two parts sum to it exactly.", 17497.037862),
  marketDeltaUsd: number(
    "The market's part of netUsd, in USD: what the vault's own deposits would have gained, simply held.",
    14257.8124,
  ),
  positions: list("Its open positions, in the newest mark's order.", position),
  fees: object('Its fee summary: that of its newest mark with one, else derived.', {
    contributedUsd: number('Capital contributed, in USD.', 342151.34688),
    withdrawnUsd: number('Capital withdrawn, in USD.', 0),
    taxedUsd: number('Fees taken, in USD.', 0),
    highWaterUsd: number('High-water mark of the gain, in USD: only what exceeds it is charged a fee.', 37811.479727),
  }),
  suspension: orNull(suspension),
  updatedAt: timeSchema('Time of its newest fact, in Unix seconds.', 1767207600),
})

/** Schema of an equity point. */
export const equityPoint = object("A vault's equity as a flow or a valuation left it: recorded, never averaged.", {
  ts: timeSchema('When, in Unix seconds.', 1765760400),
  valueUsd: number('Value of the vault then, in USD.', 379962.826607),
  capitalInUsd: number('Capital deposited until then, in USD.', 342151.34688),
  capitalOutUsd: number('Capital withdrawn until then, in USD.', 0),
})

/** Schema of a ledger row. */
export const ledgerRow = object("A row of a vault's activity ledger.", {
  txHash: hex(64, 'Hash of the transaction.', `0x${'7b41c9f0e2d85a36'.repeat(4)}`),
  logIndex: integer('Index of the log in its block.', 3),
  block: integer('Number of the block.', 146952350),
  ts: timeSchema('When, in Unix seconds.', 1763428200),
  type: oneOf('Type of the event.', EventType, 'harvest'),
  amountUsd: orNull(number('The amount moved, in USD; null where none is, or it is not known.', 1290.5)),
  positionId: orNull(text('The position it is about; null where it is about none.', 'first-1')),
  reason: orNull({
    type: 'string',
    description: 'Why the vault was suspended; null on other events.',
    examples: [null],
  }),
})

const pair = {
  a: text('Symbol of the base asset.', 'WETH'),
  b: text('Symbol of the quote asset.', 'USDC'),
  venues,
}

/** Schema of a strategy. */
export const strategy = object('A strategy of the catalogue.', {
  id: text('Identifier of the strategy.', 'eth-core'),
  name: text('Display name.', 'Ether Core'),
  tagline: text('Description in a line.', 'A wide range around the market, moved seldom.'),
  description: text('Description of the strategy.', 'Provides WETH/USDC liquidity in a broad band.'),
  pairs: list(
    "Its live pairs, in the screen's order: they change when the screen re-ranks.",
    object('A pair that the strategy would plant into at this moment.', pair),
  ),
  liveApr: orNull(
    number(
      'Realised return over the 30 newest complete days, as an annualised fraction (0.12 is 12 %); ' +
        'null until all 30 have a return, and where it is beyond the range of a double.',
      0.4582618970969625,
    ),
  ),
  sigma: orNull(
    number(
      'Realised volatility over the same days, as an annualised fraction; null with liveApr, and where a day lost everything.',
      0.2616282061612304,
    ),
  ),
})

/** Schema of an eligible asset. */
export const universeAsset = object('An asset that is eligible for build-your-own strategies now.', {
  symbol: text('Symbol of the asset.', 'WETH'),
  name: text('Display name.', 'Wrapped Ether'),
  category: oneOf('Kind of the asset.', AssetCategory, 'major'),
  venues,
  liquidityUsd: number('Its liquidity depth, in USD.', 184220113.51),
})

/** Schema of an eligible pool. */
export const universePair = object('A pool that is eligible for build-your-own strategies now.', {
  ...pair,
  tvlUsd: number('Total value locked, in USD.', 143220110.2),
  emissions: { type: 'boolean', description: 'Whether it pays emissions beside fees.', examples: [true] },
})
