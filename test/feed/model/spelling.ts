import { getAddress } from 'viem'
import { isDecimal } from './world-model.ts'
import { plainText } from './rational.ts'

/** Returns a pseudo-random generator of numbers from 0 to below 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Returns a random item. */
export function pick<Item>(random: () => number, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item
}

/**
 * Writes a fact as a line in one of the ways that say the same: keys in any order, white space, escapes, addresses in any
 * case, decimals as texts or numbers, with zeros and exponents.
 */
export function spelled(fact: object, random: () => number): string {
  if (random() < 0.4) return JSON.stringify(fact)
  return `${pick(random, ['', ' ', '\t'])}${write(fact, '', random)}${pick(random, ['', ' ', '\r'])}`
}

function write(value: unknown, key: string, random: () => number): string {
  if (typeof value === 'string') return writeText(value, key, random)
  if (typeof value === 'number') return value === 0 && random() < 0.2 ? '-0' : String(value)
  if (Array.isArray(value)) return `[${value.map((each) => write(each, key, random)).join(pick(random, [',', ' , ']))}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  const shuffled = entries.map((entry) => [random(), entry] as const).sort(([a], [b]) => a - b)
  const written = shuffled.map(
    ([, [name, inner]]) =>
      `${escaped(name, random)}${pick(random, [':', ': ', ' :'])}${write(inner, key === 'prices' ? 'price' : name, random)}`,
  )
  return `{${written.join(pick(random, [',', ', ']))}}`
}

function writeText(text: string, key: string, random: () => number): string {
  if (key === 'vault' || key === 'owner') {
    const digits = text.slice(2)
    return JSON.stringify(pick(random, [text.toLowerCase(), `0x${digits.toUpperCase()}`, getAddress(text)]))
  }
  if (key === 'txHash' && random() < 0.3) return JSON.stringify(`0x${text.slice(2).toUpperCase()}`)
  return isDecimal(key) ? writeDecimal(plainText(text), key, random) : escaped(text, random)
}

function writeDecimal(text: string, key: string, random: () => number): string {
  const [whole = '', fraction = ''] = text.split('.')
  const zeros = '0'.repeat((key.endsWith('Usd') ? 6 : 18) - fraction.length)
  const ways = [
    `"${text}"`,
    `"${whole}.${fraction}${zeros}"`,
    `"00${text}"`,
    text,
    `${text}${fraction === '' ? '.0' : ''}`,
    `${whole}${fraction}e-${fraction.length}`,
    `${text}E+0`,
    ...(text === '0' ? ['"-0"', '-0.0'] : []),
  ]
  return pick(random, ways)
    .replace(/^0+(?=\d+e)/, '')
    .replace(/\.(?="$)/, '')
}

function escaped(text: string, random: () => number): string {
  if (random() < 0.8 || text === '') return JSON.stringify(text)
  const at = Math.floor(random() * text.length)
  const escape = `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`
  return `"${JSON.stringify(text.slice(0, at)).slice(1, -1)}${escape}${JSON.stringify(text.slice(at + 1)).slice(1, -1)}"`
}
