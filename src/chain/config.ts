import { z } from 'zod'
import type { Address } from '../domain/address.ts'
import { strategySchema } from '../feed/fact/fact.ts'
import { BadChainConfig } from './errors.ts'
import { addressField as address, priceSource } from './price-config.ts'

/**
 * Address of Multicall3 on most chains.
 * @see https://www.multicall3.com/deployments
 */
const multicall3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

/** A node's address and rate limit. */
export interface NodeConfig {
  readonly url: string
  readonly requestsPerSecond: number
}

/** A vault to follow. */
export interface VaultConfig {
  readonly address: Address
  readonly strategy: string
  /** The block in which the vault was created. */
  readonly firstBlock: number
  /** Accounts that receive the vault's fees as new shares, besides the fee recipient that the contract reports. */
  readonly feeRecipients?: Address[] | undefined
  /** Pools in which the vault holds positions directly, besides the pool that the contract reports. */
  readonly pools?: Address[] | undefined
}

/** A validated configuration file. */
export type ChainConfig = z.output<typeof schema>

const shortText = z.string().min(1).max(200)
const blockNumber = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER)
const url = z
  .string()
  .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), 'is not an http:// or https:// address')

/** Requires that no two entries of an array share one of these keys. */
const uniqueBy = <Key extends string>(...keys: Key[]) =>
  function check(entries: Record<Key, unknown>[], context: z.RefinementCtx): void {
    for (const key of keys) {
      entries.forEach((entry, index) => {
        if (entries.findIndex((other) => other[key] === entry[key]) === index) return
        context.addIssue({ code: 'custom', path: [index, key], message: 'stands there twice' })
      })
    }
  }

/** The fields of strategies, as the feed accepts them. */
const { id, ts, name, tagline, description } = strategySchema.shape

const schema = z
  .strictObject({
    chainId: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
    rpc: z
      .array(z.strictObject({ url, requestsPerSecond: z.number().int().min(1).max(10_000).default(10) }))
      .min(1)
      .superRefine(uniqueBy('url')),
    finality: z.union([z.literal('finalized'), z.number().int().min(1).max(100_000)]).default('finalized'),
    pollSeconds: z.number().min(0.01).max(3_600).default(4),
    multicall: address.default(multicall3),
    positionManager: address,
    otherPositionManagers: z.array(address).min(1).max(8).optional(),
    markEveryBlocks: z.number().int().min(1).max(10_000_000),
    tokens: z
      .array(
        z.strictObject({
          address,
          symbol: shortText.refine(
            (text) => text.isWellFormed() && !text.includes('\0'),
            'holds a NUL or half a surrogate pair',
          ),
          price: priceSource,
        }),
      )
      .min(1)
      .superRefine(uniqueBy('address', 'symbol')),
    strategies: z.array(z.strictObject({ id, ts, name, tagline, description })).superRefine(uniqueBy('id')),
    vaults: z
      .array(
        z.strictObject({
          address,
          strategy: shortText,
          firstBlock: blockNumber,
          feeRecipients: z.array(address).min(1).optional(),
          pools: z.array(address).min(1).optional(),
        }),
      )
      .min(1)
      .superRefine(uniqueBy('address')),
  })
  .superRefine(({ positionManager, otherPositionManagers = [] }, context) => {
    otherPositionManagers.forEach((manager, index) => {
      const isRepeated = otherPositionManagers.indexOf(manager) < index
      if (!isRepeated && manager !== positionManager) return
      const message = isRepeated ? 'stands there twice' : 'is the positionManager, too'
      context.addIssue({ code: 'custom', path: ['otherPositionManagers', index], message })
    })
  })
  .superRefine(({ vaults, strategies }, context) => {
    vaults.forEach(({ strategy }, index) => {
      if (strategies.some(({ id }) => id === strategy)) return
      const message = `names ${JSON.stringify(strategy)}, which is none of the strategies`
      context.addIssue({ code: 'custom', path: ['vaults', index, 'strategy'], message })
    })
  })

/**
 * Parses and validates the text of a chain configuration file.
 * @param file name of the file in messages
 * @throws {BadChainConfig} with every problem
 */
export function readChainConfig(file: string, text: string): ChainConfig {
  let value: unknown
  try {
    // Some editors begin a file with a byte order mark, which feeds may have, too.
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new BadChainConfig(file, [`is not JSON: ${(error as Error).message}`])
  }
  const read = schema.safeParse(value, { error: describe })
  if (read.success) return read.data
  throw new BadChainConfig(
    file,
    read.error.issues.map((issue) => `${keyOf(issue)} ${issue.message}`),
  )
}

/** Returns the path to a problem, such as `vaults[0].address`. */
function keyOf({ path }: z.core.$ZodIssue): string {
  const steps = path.map((step, index) =>
    typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${String(step)}`,
  )
  return steps.length === 0 ? 'it' : steps.join('')
}

function describe(issue: z.core.$ZodRawIssue): string | undefined {
  const written = issue.input === undefined ? 'missing' : JSON.stringify(issue.input)
  switch (issue.code) {
    case 'unrecognized_keys':
      return `has ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}, which is no key of it`
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `is ${written}, not of type ${issue.expected}`
    case 'invalid_union':
      return issue.input === undefined
        ? 'is missing'
        : `is ${written}, which is none of what it can be: see the example in src/chain/README.md`
    case 'too_small':
      return issue.origin === 'number' ? `is ${written}, less than ${issue.minimum}` : 'is empty'
    case 'too_big':
      return issue.origin === 'number' ? `is ${written}, more than ${issue.maximum}` : `has more than ${issue.maximum}`
    default:
      return undefined
  }
}
