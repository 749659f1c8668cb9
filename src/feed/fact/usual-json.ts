/*
 * Readers of JSON of a known shape, without the objects that a parser makes of it. They take no escapes, no fractions, and no
 * white space but spaces, and throw `unusual` for anything else, good or bad.
 */

/** Says that a text is not in its usual form. One error for all: creating one takes longer than most readers do. */
const unusual = new Error('The text is not in its usual form')

/** A text, and the place in it that is read next. */
interface Cursor {
  readonly text: string
  at: number
}

/** Reads a value at the cursor, and moves the cursor behind it. */
type Read<Value> = (cursor: Cursor) => Value

/** A reader of a field that may be absent. */
interface Optional<Value> {
  readonly read: Read<Value>
}

/** Makes the field of a reader one that may be absent. */
export function optional<Value>(read: Read<Value>): Optional<Value> {
  return { read }
}

/**
 * Reads a whole text.
 * @returns null where it is not in its usual form
 */
export function readWhole<Value>(read: Read<Value>, text: string): Value | null {
  try {
    const cursor = { text, at: 0 }
    const value = read(cursor)
    return text.slice(cursor.at).trim() === '' ? value : null
  } catch (error) {
    if (error === unusual) return null
    throw error
  }
}

/** Returns a value that a conversion has found; null makes the text an unusual one. */
export function required<Value>(value: Value | null): Value {
  if (value === null) throw unusual
  return value
}

/** Returns a reader of values that satisfy a condition. */
export function where<Value>(read: Read<Value>, isUsual: (value: Value) => boolean): Read<Value> {
  return (cursor) => {
    const value = read(cursor)
    if (!isUsual(value)) throw unusual
    return value
  }
}

/** Returns a reader of a string. The text must have no escapes. */
export function quoted<Value>(convert: (text: string) => Value): Read<Value> {
  return (cursor) => {
    pass(cursor, quote)
    const end = cursor.text.indexOf('"', cursor.at)
    if (end === -1) throw unusual
    const value = convert(cursor.text.slice(cursor.at, end))
    cursor.at = end + 1
    return value
  }
}

/** Returns a reader of a whole number. */
export function integer(min: number, max: number): Read<number> {
  return (cursor) => {
    const { text } = cursor
    const isNegative = passes(cursor, minus)
    const from = cursor.at
    let value = 0
    for (let code = text.charCodeAt(from); code >= zero && code <= nine; code = text.charCodeAt(++cursor.at))
      value = 10 * value + code - zero
    const digits = cursor.at - from
    // JSON has no zeros in front, and -0 is another number than 0.
    if (digits === 0 || digits > 15 || (text.charCodeAt(from) === zero && (digits > 1 || isNegative))) throw unusual
    const signed = isNegative ? -value : value
    if (signed < min || signed > max) throw unusual
    return signed
  }
}

/** Returns a reader of an array. */
export function listOf<Value>(read: Read<Value>): Read<Value[]> {
  return (cursor) => {
    const list: Value[] = []
    pass(cursor, openList)
    if (passes(cursor, closeList)) return list
    do list.push(read(cursor))
    while (passes(cursor, comma))
    pass(cursor, closeList)
    return list
  }
}

/** Returns a reader of an object with any keys. */
export function entriesOf<Value>(readKey: Read<string>, read: Read<Value>): Read<Record<string, Value>> {
  return (cursor) => {
    const entries: Record<string, Value> = {}
    pass(cursor, open)
    if (passes(cursor, close)) return entries
    do {
      const key = readKey(cursor)
      if (key === '__proto__' || Object.hasOwn(entries, key)) throw unusual
      pass(cursor, colon)
      entries[key] = read(cursor)
    } while (passes(cursor, comma))
    pass(cursor, close)
    return entries
  }
}

type OptionalKeys<Value> = { [Key in keyof Value]-?: undefined extends Value[Key] ? Key : never }[keyof Value]

/** Readers of the fields of an object. */
type Fields<Value> = {
  readonly [Key in Exclude<keyof Value, OptionalKeys<Value>>]: Read<Value[Key]>
} & { readonly [Key in OptionalKeys<Value>]-?: Optional<Exclude<Value[Key], undefined>> }

/** Returns a reader of an object with these fields and no others, in any order. */
export function objectOf<Value extends object>(fields: Fields<Value>): Read<Value> {
  const all = Object.entries<Read<unknown> | Optional<unknown>>(fields).map(([key, field]) => {
    const isOptional = typeof field !== 'function'
    return { key, label: `"${key}"`, isOptional, read: isOptional ? field.read : field }
  })
  return (cursor) => {
    const values = new Array<unknown>(all.length)
    pass(cursor, open)
    let at = 0
    do {
      at = fieldHere(cursor, all, at)
      const field = all[at]
      if (field === undefined || values[at] !== undefined) throw unusual
      pass(cursor, colon)
      values[at++] = field.read(cursor)
    } while (passes(cursor, comma))
    pass(cursor, close)
    const object: Record<string, unknown> = {}
    for (let index = 0; index < all.length; index++) {
      const { key, isOptional } = all[index] as (typeof all)[number]
      if (values[index] !== undefined) object[key] = values[index]
      else if (!isOptional) throw unusual
    }
    // Its fields have the types of their readers.
    return object as Value
  }
}

/**
 * Finds the field whose label is at the cursor, and moves behind that. Objects of a feed have their keys in one order mostly.
 * @param next index of the field that is tried first
 */
function fieldHere(cursor: Cursor, all: readonly { readonly label: string }[], next: number): number {
  skipSpaces(cursor)
  for (let tried = 0; tried < all.length; tried++) {
    const index = (next + tried) % all.length
    const label = all[index]?.label ?? ''
    if (!cursor.text.startsWith(label, cursor.at)) continue
    cursor.at += label.length
    return index
  }
  throw unusual
}

const [space, quote, comma, minus, zero, nine, colon] = [0x20, 0x22, 0x2c, 0x2d, 0x30, 0x39, 0x3a] as const
const [openList, closeList, open, close] = [0x5b, 0x5d, 0x7b, 0x7d] as const

function skipSpaces(cursor: Cursor): void {
  while (cursor.text.charCodeAt(cursor.at) === space) cursor.at++
}

/** Moves behind a character and spaces before it, if it is there. */
function passes(cursor: Cursor, code: number): boolean {
  skipSpaces(cursor)
  if (cursor.text.charCodeAt(cursor.at) !== code) return false
  cursor.at++
  return true
}

function pass(cursor: Cursor, code: number): void {
  if (!passes(cursor, code)) throw unusual
}
