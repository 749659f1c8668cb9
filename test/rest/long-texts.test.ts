import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeRows, rowCodec } from '../../src/database/read/row-codec.ts'
import { leafText } from '../../src/graphql/execution/compiler/json-text.ts'
import { listOf, objectOf } from '../../src/graphql/execution/compiler/writers.ts'
import { CompiledOperation, TooLong } from '../../src/graphql/execution/compiler/compiled-operation.ts'
import { charactersAtOnce } from '../../src/limits.ts'
import { csvOfList } from '../../src/rest/csv.ts'
import { emptyDatabase } from '../support/database.ts'
import { gatewayOn, type TestGateway } from '../support/gateway.ts'
import { addressOf, apply, event, midnight, opened, strategy } from '../support/world.ts'

/** Returns the result of work, and the number of iterations of the event loop until then. */
async function iterationsOf<Result>(work: () => Result | Promise<Result>): Promise<[Result, number]> {
  let [iterations, isOver] = [0, false]
  const count = (): void => {
    if (isOver) return
    iterations++
    setImmediate(count)
  }
  setImmediate(count)
  const result = await work()
  isOver = true
  return [result, iterations]
}

const tricky = 'over 2 %, "says" \\ the},{"oracle":1}, é\u2028\n\t{"'
const reasons = Array.from({ length: 300 }, (_, at) => (at % 3 === 0 ? null : `${at} ${tricky.repeat(200)}`))
const list = JSON.stringify(reasons.map((reason, at) => ({ at, reason, isLast: at === 299 })))
const slices = Math.floor(list.length / charactersAtOnce)

function csvField(text: string | null): string {
  if (text === null) return ''
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

test('a long list is converted to CSV in slices, with the same bytes as at once', async () => {
  const [csv, ran] = await iterationsOf(() => csvOfList(list, ['at', 'reason', 'isLast']))
  const lines = reasons.map((reason, at) => `${at},${csvField(reason)},${String(at === 299)}\r\n`)
  expect(csv === `at,reason,isLast\r\n${lines.join('')}`).toBe(true)
  expect(slices).toBeGreaterThan(5)
  expect(ran).toBeGreaterThanOrEqual(slices)
})

test('a short list is converted to CSV at once', async () => {
  const short = JSON.stringify([{ at: 1 }])
  expect(await iterationsOf(() => csvOfList(short, ['at']))).toEqual(['at\r\n1\r\n', 0])
  expect(await csvOfList('[]', ['at'])).toBe('at\r\n')
})

test('CSV of any texts is the same for all ends of slices', async () => {
  const text = fc.string({ unit: fc.constantFrom('}', '{', ',', '"', '\\', 'a', ':', '1', '[', ']') })
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 5 }), fc.nat(40), async (texts, lead) => {
      const filler = 'x'.repeat(charactersAtOnce - lead)
      const all = [filler, ...texts, filler, ...texts]
      const csv = await csvOfList(JSON.stringify(all.map((a) => ({ a }))), ['a'])
      expect(csv === ['a', ...all].map((each) => `${csvField(each)}\r\n`).join('')).toBe(true)
    }),
    { numRuns: 30 },
  )
})

const name = { label: '"reason":', definition: { name: 'reason' }, resolve: null, write: leafText } as never
const operation = new CompiledOperation(1, listOf(objectOf([name])))
const parents = reasons.map((reason) => ({ reason: reason ?? '' }))

test('a long list is written in slices, with its items in order', async () => {
  const [{ text }, ran] = await iterationsOf(() => operation.write(parents, {}, {}, Infinity))
  expect(text === JSON.stringify(parents)).toBe(true)
  expect(ran).toBeGreaterThanOrEqual(slices)
  const later = parents.map((parent, at) => (at % 7 === 0 ? Promise.resolve(parent) : parent))
  expect((await operation.write(later, {}, {}, Infinity)).text === JSON.stringify(parents)).toBe(true)
})

test('a list over the length limit is not written to its end', async () => {
  let written = 0
  const write = listOf((item) => `"${item as string}${written++}"`)
  const items = Array.from({ length: 3_000 }, () => 'x'.repeat(1_000))
  await expect(new CompiledOperation(1, write).write(items, {}, {}, 1_000_000)).rejects.toBeInstanceOf(TooLong)
  expect(written).toBeLessThan(1_500)
  const failing = listOf((item) => {
    if (item === 'bad') throw new Error('is bad')
    return String(item)
  })
  await expect(new CompiledOperation(1, failing).write([...items, 'bad'], {}, {}, Infinity)).rejects.toThrow('is bad')
})

test('long texts are decoded in a later iteration than their receipt', async () => {
  const { decode } = rowCodec<{ text: string }>((c) => ({ text: c.text('text') }))
  const statement = { name: 'texts', text: '', decode }
  const encoded = parents.map(({ reason }) => JSON.stringify(reason)).join('\t')
  const [{ rows, version }, ran] = await iterationsOf(() => decodeRows(statement, [{ encoded, dataVersion: '1.1' }]))
  expect([rows.length, version, ran]).toEqual([300, '1.1', 1])
  expect(await iterationsOf(() => decodeRows(statement, [{ encoded: '"a"' }]))).toEqual([
    { rows: [{ text: 'a' }], version: null },
    0,
  ])
})

test('a page of rows with long texts is the same in JSON, CSV and GraphQL', async () => {
  const vault = addressOf(1)
  const database = await emptyDatabase()
  const rows = reasons.map((reason, at) =>
    event(vault, midnight + at, reason === null ? { type: 'resume' } : { type: 'suspend', reason }),
  )
  await apply(database, [strategy('calm'), opened(vault, 'calm'), ...rows])
  const gateway: TestGateway = gatewayOn(database)
  const path = `/vault/${vault}/events?limit=300`
  const served = (await (await gateway.get(path)).json()) as { ts: number; reason: string | null }[]
  const newestFirst = reasons.toReversed()
  expect(served.map(({ reason }) => reason)).toEqual(newestFirst)
  const csv = await (await gateway.get(path, { headers: { accept: 'text/csv' } })).text()
  const ends = served.map(
    ({ ts, reason }) => `,${ts},${reason === null ? 'resume' : 'suspend'},,,${csvField(reason)}\r\n`,
  )
  let at = 0
  for (const end of ends) {
    const found = csv.indexOf(end, at)
    expect(found).toBeGreaterThan(at)
    at = found + end.length
  }
  expect(at).toBe(csv.length)
  const query = `{ vault(address: "${vault}") { events(first: 300) { nodes { reason } } } }`
  const { vault: queried } = await gateway.query<{ vault: { events: { nodes: { reason: string | null }[] } } }>(query)
  expect(queried.events.nodes.map(({ reason }) => reason)).toEqual(newestFirst)
})

test('no further slices of a list are written after its run has failed', async () => {
  let resolved = 0
  const item = (): string => {
    resolved++
    return JSON.stringify('x'.repeat(charactersAtOnce))
  }
  const fails = Promise.reject(new Error('Failed'))
  const operation = new CompiledOperation(2, (value, run) => {
    const text = listOf(item)(value, run)
    run.waitFor(fails)
    return text
  })
  await expect(operation.write([1, 2, 3, 4, 5], null, {}, 10_000_000)).rejects.toThrow('Failed')
  await iterationsOf(() => new Promise((resolve) => setTimeout(resolve, 20)))
  expect(resolved).toBeLessThan(5)
})
