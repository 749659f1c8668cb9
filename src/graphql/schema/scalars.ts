import { type FloatValueNode, GraphQLError, type IntValueNode, Kind, print, type ValueNode } from 'graphql'
import { toAddress } from '../../domain/address.ts'
import { Decimal, usdDigits, usdScale } from '../../domain/decimal.ts'
import { InvalidAddress, InvalidAmount, InvalidTime } from '../../domain/errors.ts'
import { maxUnixTime } from '../../limits.ts'
import { builder } from './builder.ts'
import { exactNumber, type ExactNumber, exactText } from '../execution/compiler/json-text.ts'

const maxUsd = new Decimal(10).pow(usdDigits)

/* The extension `jsonText` writes the JSON text of a value directly, without the intermediate result of `serialize`. */

builder.scalarType('Address', {
  description:
    'An EVM address: `0x` and 40 hex digits. Accepted in all lower or upper case, or in mixed case with a valid EIP-55 checksum; served checksummed.',
  specifiedByURL: 'https://eips.ethereum.org/EIPS/eip-55',
  serialize: (address) => address,
  extensions: { jsonText: unescaped },
  parseValue: (value) => {
    if (typeof value !== 'string') throw new InvalidAddress(value, 'it is not a string')
    return toAddress(value)
  },
})

builder.scalarType('TxHash', {
  description: 'A transaction hash: `0x` and 64 hex digits in lower case.',
  specifiedByURL: 'https://ethereum.org/en/developers/docs/apis/json-rpc/#data-encoding',
  serialize: (hash) => hash,
  extensions: { jsonText: unescaped },
  parseValue: onlyServed('TxHash'),
})

builder.scalarType('UnixTime', {
  description: 'A time in Unix seconds: an integer, which is not limited to 32 bits.',
  specifiedByURL: 'https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap04.html#tag_04_19',
  serialize: (seconds) => seconds,
  extensions: { jsonText: String },
  parseValue: toUnixTime,
  parseLiteral: (node) => toUnixTime(isNumber(node) ? Number(node.value) : 'value' in node ? node.value : print(node)),
})

builder.scalarType('BlockNumber', {
  description: 'The number of a block: an integer, which is not limited to 32 bits.',
  serialize: (block) => block,
  extensions: { jsonText: String },
  parseValue: onlyServed('BlockNumber'),
})

builder.scalarType('Usd', {
  description:
    'An amount in USD: a JSON number of at most 6 decimals, whose text is exact. Accepted as a number or as its text, which keeps all digits.',
  serialize: (text): number | ExactNumber => exactNumber(text),
  extensions: { jsonText: exactText },
  parseValue: toUsdText,
  parseLiteral: (node) => toUsdText('value' in node ? node.value : print(node)),
})

builder.scalarType('Price', {
  description:
    'A price: units of the quote asset for one unit of the base asset, adjusted for token decimals. A JSON number.',
  serialize: (text) => Number(text),
  parseValue: onlyServed('Price'),
})

function isNumber(node: ValueNode): node is IntValueNode | FloatValueNode {
  return node.kind === Kind.INT || node.kind === Kind.FLOAT
}

/** Returns the JSON text of a string without characters to escape. */
function unescaped(text: string): string {
  return `"${text}"`
}

function toUnixTime(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= maxUnixTime) return value
  throw new InvalidTime(value, maxUnixTime)
}

/** Matches a number in JSON syntax, with a limit on its digits and so on the time to parse it. */
const amount = /^-?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,2})?$/

function toUsdText(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text === 'string' && amount.test(text)) {
    const usd = new Decimal(text)
    if (usd.decimalPlaces() <= usdScale && usd.abs().lessThan(maxUsd)) return usd.toFixed()
  }
  throw new InvalidAmount(value)
}

/** Returns a parser that rejects every value, for a type that is not used by arguments. */
function onlyServed(name: string): () => never {
  return () => {
    throw new GraphQLError(`${name} is served, not taken`)
  }
}
