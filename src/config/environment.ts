import { z } from 'zod'
import { addressProblem } from '../database/postgresql/server-address.ts'
import { defaultHttpLimits, defaultQueryLimits } from '../limits.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'is not a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `is not from ${min} to ${max}`)

const itemsOf = (text: string): string[] => text.split(',').flatMap((item) => item.trim() || [])
const list = z
  .string()
  .transform(itemsOf)
  .refine((items) => items.length > 0, 'has nothing but commas and spaces: leave it out to have none')

function checkAddress(text: string, context: z.RefinementCtx): string {
  // The driver would encode the whole address again if it contained a space.
  const address = text.trim().replaceAll(' ', '%20')
  const problem = addressProblem(address)
  if (problem !== null) context.addIssue({ code: 'custom', message: problem })
  return address
}

function checkAddresses(items: readonly string[], context: z.RefinementCtx): string[] {
  const addresses = items.map((item) => item.replaceAll(' ', '%20'))
  addresses.forEach((address, index) => {
    const problem = addressProblem(address)
    const message = `has an address, number ${index + 1} of ${items.length}, that ${problem}`
    if (problem !== null) context.addIssue({ code: 'custom', message })
  })
  if (new Set(addresses).size < addresses.length) context.addIssue({ code: 'custom', message: 'has an address twice' })
  return addresses
}

/**
 * Syntax of a Bearer token.
 * @see RFC 6750, section 2.1
 */
const bearerToken = /^[A-Za-z0-9\-._~+/]+=*$/

function checkKeys(keys: readonly string[], context: z.RefinementCtx): void {
  if (keys.some((key) => key.length < 16)) {
    context.addIssue({ code: 'custom', message: 'has a key of fewer than 16 characters' })
  }
  const unsendable = keys.findIndex((key) => !bearerToken.test(key))
  if (unsendable === -1) return
  const message =
    `has a key, number ${unsendable + 1}, that a client can't send as a Bearer token (RFC 6750): ` +
    'it may hold A-Z a-z 0-9 - . _ ~ + / and end with ='
  context.addIssue({ code: 'custom', message })
}

/** Environment variables with their checks and defaults, each by itself. */
export const environment = z.object({
  PORT: wholeNumber(0, 65_535).default(4_000),
  WORKERS: wholeNumber(1, 128).default(1),
  HOST: z.string().min(1).nullable().default(null),
  DATA_DIR: z.string().min(1).default('.data'),
  DATABASE_URL: z.string().transform(checkAddress).optional(),
  DATABASE_CONNECTIONS: wholeNumber(2, 1_000).default(10),
  READ_URLS: list.transform(checkAddresses).default([]),
  STALE_SECONDS: wholeNumber(2, 86_400).default(60),
  DEMO: z.enum(['0', '1'], 'is neither 0 nor 1').default('1'),
  EXPLORER: z.enum(['0', '1'], 'is neither 0 nor 1').default('1'),
  API_KEYS: list.superRefine(checkKeys).default([]),
  RATE_LIMIT: z
    .string()
    .regex(/^[1-9]\d{0,6}\/[1-9]\d{0,4}$/, 'is not requests/seconds, such as 100/60')
    .transform((text) => {
      const [requests = 0, seconds = 0] = text.split('/').map(Number)
      return { requests, seconds }
    })
    .nullable()
    .default(null),
  TRUSTED_PROXIES: wholeNumber(0, 16).default(0),
  MAX_BODY_BYTES: wholeNumber(1_024, 16_777_216).default(defaultHttpLimits.bodyBytes),
  MAX_QUERY_BYTES: wholeNumber(1_000, 1_000_000).default(defaultQueryLimits.bytes),
  MAX_QUERY_TOKENS: wholeNumber(100, 100_000).default(defaultQueryLimits.tokens),
  MAX_QUERY_DEPTH: wholeNumber(3, 100).default(defaultQueryLimits.depth),
  MAX_QUERY_ALIASES: wholeNumber(0, 10_000).default(defaultQueryLimits.aliases),
  MAX_QUERY_DIRECTIVES: wholeNumber(0, 10_000).default(defaultQueryLimits.directives),
  MAX_QUERY_COST: wholeNumber(100, 10_000_000).default(defaultQueryLimits.cost),
  ANSWER_SECONDS: wholeNumber(1, 50).default(defaultHttpLimits.answerSeconds),
  KEEP_ALIVE_SECONDS: wholeNumber(1, 3_600).default(defaultHttpLimits.idleSeconds),
  CACHE_MEGABYTES: wholeNumber(0, 16_384).default(32),
  PERSISTED_OPERATIONS: z.string().nullable().default(null),
  EDGE_SECONDS: wholeNumber(0, 3_600).default(0),
  STOP_SECONDS: wholeNumber(0, 3_600).default(10),
  METRICS_PORT: wholeNumber(0, 65_535).nullable().default(null),
  LOG_LEVEL: z.enum(logLevels, `is none of ${logLevels.join(', ')}`).default('info'),
})
