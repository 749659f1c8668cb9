import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fingerprintAfter, type Line, readLines, type LineStart } from '../../../src/feed/reading/lines.ts'
import { PrefixDigest } from '../../../src/feed/reading/prefix-digest.ts'

const beginning: LineStart = { line: 0, byte: 0 }

/** Bytes with many line ends, blanks and carriage returns. */
const bytes = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(0x0a, 0x0d, 0x20, 0x09) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: 255 }) },
    ),
    { maxLength: 80 },
  )
  .map((list) => Buffer.from(list))

const cuts = fc.array(fc.nat(80), { maxLength: 12 })
const start = fc.record({ line: fc.nat(1_000_000), byte: fc.nat() })

/** The properties of a line as comparable values. */
interface LineProperties {
  readonly number: number
  readonly endByte: number
  readonly text: string
  readonly length: number
}

function propertiesOf({ number, endByte, bytes: held, length }: Line): LineProperties {
  return { number, endByte, text: held.toString('latin1'), length }
}

async function linesOf(chunks: readonly Buffer[], from: LineStart = beginning): Promise<LineProperties[][]> {
  const batches: LineProperties[][] = []
  for await (const lines of readLines(flowing(chunks), from)) batches.push(lines.map(propertiesOf))
  return batches
}

async function* flowing(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield await Promise.resolve(chunk)
}

function cutAt(whole: Buffer, places: readonly number[]): Buffer[] {
  const edges = [0, ...places.map((place) => Math.min(place, whole.length)).sort((a, b) => a - b), whole.length]
  return edges.slice(1).map((edge, index) => whole.subarray(edges[index], edge))
}

/** Splits a whole text into lines. */
function expectedLines(whole: Buffer, from: LineStart): LineProperties[] {
  const parts = whole.toString('latin1').split('\n')
  let endByte = from.byte
  return parts
    .map((text, index): LineProperties => {
      endByte += text.length + (index < parts.length - 1 ? 1 : 0)
      return { number: from.line + index + 1, endByte, text, length: text.length }
    })
    .filter(({ text }) => !/^[ \t\r]*$/.test(text))
}

describe('lines', () => {
  test('are the same, with their numbers and ends, for any division into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, cuts, start, async (whole, places, from) => {
        expect((await linesOf(cutAt(whole, places), from)).flat()).toEqual(expectedLines(whole, from))
      }),
      { numRuns: 500 },
    )
  })

  test('are the same a byte at a time', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, async (whole) => {
        const single = Array.from(whole, (byte) => Buffer.from([byte]))
        expect((await linesOf(single)).flat()).toEqual(expectedLines(whole, beginning))
      }),
    )
  })

  test('read from the end of a line are those after it', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, fc.nat(), async (whole, choice) => {
        const all = (await linesOf([whole])).flat()
        fc.pre(all.length > 0)
        const last = all[choice % all.length] as LineProperties
        const rest = await linesOf([whole.subarray(last.endByte)], { line: last.number, byte: last.endByte })
        expect(rest.flat()).toEqual(all.filter(({ number }) => number > last.number))
      }),
    )
  })

  test('end at the number of bytes up to them', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, async (whole) => {
        for (const { endByte, text } of (await linesOf([whole])).flat()) {
          const read = whole.subarray(0, endByte).toString('latin1')
          expect(read.endsWith(`${text}\n`) || (endByte === whole.length && read.endsWith(text))).toBe(true)
        }
      }),
    )
  })

  test('are returned together per chunk that completes them, and never in an empty batch', async () => {
    const batches = await linesOf([Buffer.from('a\nb\nc'), Buffer.from('d'), Buffer.from('\n\n'), Buffer.from('e\n')])
    expect(batches.map((batch) => batch.map(({ text }) => text))).toEqual([['a', 'b'], ['cd'], ['e']])
  })

  test('that are blank are omitted, and counted', async () => {
    const [batch] = await linesOf([Buffer.from('\n \t\r\na\r\n\n  b\n   ')])
    expect(batch).toEqual([
      { number: 3, endByte: 8, text: 'a\r', length: 2 },
      { number: 5, endByte: 13, text: '  b', length: 3 },
    ])
  })

  test('that contain only the byte order mark of a file are blank', async () => {
    const mark = '\ufeff'
    expect(await linesOf([Buffer.from(`${mark}\r\na\n`)])).toMatchObject([[{ number: 2, endByte: 7, text: 'a' }]])
    expect((await linesOf([Buffer.from(`${mark}a\n`)])).flat()).toMatchObject([{ number: 1, length: 4 }])
  })

  test('need no newline at the end', async () => {
    expect(await linesOf([Buffer.from('a\nb')])).toEqual([
      [{ number: 1, endByte: 2, text: 'a', length: 1 }],
      [{ number: 2, endByte: 3, text: 'b', length: 1 }],
    ])
    expect(await linesOf([])).toEqual([])
    expect(await linesOf([Buffer.alloc(0)])).toEqual([])
  })

  test('that are too long are kept in part, with their full length', async () => {
    const mebibyte = 1024 * 1024
    const chunks = [Buffer.from('a\n'), ...Array<Buffer>(33).fill(Buffer.alloc(mebibyte, 'x')), Buffer.from('\nb\n')]
    const lines: Line[] = []
    for await (const batch of readLines(flowing(chunks), beginning)) lines.push(...batch)
    expect(lines.map(({ number, endByte, length }) => ({ number, endByte, length }))).toEqual([
      { number: 1, endByte: 2, length: 1 },
      { number: 2, endByte: 33 * mebibyte + 3, length: 33 * mebibyte },
      { number: 3, endByte: 33 * mebibyte + 5, length: 1 },
    ])
    expect(lines[1]?.bytes.length).toBe(32 * mebibyte)
    expect(lines[2]?.bytes.toString()).toBe('b')
  })
})

test('the fingerprint after a line is that of all bytes before, for any order of the calls', async () => {
  const text = Array.from({ length: 9 }, (_, at) => `line ${at}\n`.repeat(at)).join('')
  const chunks = Array.from({ length: Math.ceil(text.length / 100) }, (_, at) => text.slice(100 * at, 100 * (at + 1)))
  const lines: Line[] = []
  for await (const list of readLines(flowing(chunks.map((chunk) => Buffer.from(chunk))), beginning)) lines.push(...list)
  const direct = ({ endByte }: Line): string =>
    new PrefixDigest().update(Buffer.from(text.slice(0, endByte))).fingerprint()
  const shuffled = lines.toSorted((a, b) => ((a.number * 7) % 11) - ((b.number * 7) % 11))
  for (const line of [...lines, ...shuffled, ...lines.toReversed()]) expect(fingerprintAfter(line)).toBe(direct(line))
})
