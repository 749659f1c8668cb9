import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import {
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  getIntrospectionQuery,
  GraphQLFloat,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  Kind,
  parse,
  validate,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { resultText } from '../../../../src/graphql/execution/compiler/json-text.ts'
import { OperationCache } from '../../../../src/graphql/execution/operation-cache.ts'
import { defaultQueryLimits } from '../../../../src/limits.ts'
import { schema as ownSchema } from '../../../../src/graphql/schema/schema.ts'

const operations = path.resolve(import.meta.dirname, '../../../../src/rest/operations')

const typeNameOf = (value: object): string => ('colour' in value ? 'Other' : 'strange' in value ? 'Strange' : 'Node')

/** An interface whose type is resolved by the value only. */
const named = new GraphQLInterfaceType({
  name: 'Named',
  fields: { name: { type: GraphQLString } },
  resolveType: typeNameOf,
  extensions: { typeNameOf },
})
const typedByInfo = new GraphQLInterfaceType({
  name: 'Asked',
  fields: { name: { type: GraphQLString } },
  resolveType: (_, __, info) => info.parentType.name,
})
const other = new GraphQLObjectType({
  name: 'Other',
  interfaces: [named],
  fields: { name: { type: GraphQLString }, colour: { type: GraphQLString } },
})

/** Fields that return values, null and invalid values, and fields that fail, synchronously and asynchronously. */
const node: GraphQLObjectType = new GraphQLObjectType({
  name: 'Node',
  interfaces: [named, typedByInfo],
  fields: () => ({
    name: { type: GraphQLString },
    named: { type: new GraphQLNonNull(named), resolve: (source: unknown) => source },
    nameds: {
      type: new GraphQLList(named),
      resolve: (source: unknown) => [{ name: 'other', colour: 'red' }, null, Promise.resolve(source)],
    },
    strange: { type: named, resolve: () => ({ name: 'stranger', strange: true }) },
    asked: { type: typedByInfo, resolve: (source: unknown) => source },
    size: { type: new GraphQLNonNull(GraphQLInt) },
    echo: {
      type: GraphQLFloat,
      args: { of: { type: new GraphQLNonNull(GraphQLFloat) }, plus: { type: GraphQLFloat, defaultValue: 0.5 } },
      resolve: (_, { of, plus }: { of: number; plus: number }) => of + plus,
    },
    later: { type: new GraphQLNonNull(node), resolve: (source: unknown) => Promise.resolve(source) },
    nothing: { type: node, resolve: () => null },
    missing: { type: new GraphQLNonNull(node), resolve: () => null },
    missingLater: { type: new GraphQLNonNull(node), resolve: () => Promise.resolve(null) },
    wrong: { type: GraphQLInt, resolve: () => 'words' },
    fails: { type: GraphQLString, resolve: () => fail('at once') },
    failsLater: { type: new GraphQLNonNull(GraphQLString), resolve: () => Promise.reject(new Error('later')) },
    many: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(node))),
      resolve: (source: unknown) => [source, Promise.resolve(source)],
    },
    holes: { type: new GraphQLList(node), resolve: (source: unknown) => [null, source] },
    noList: { type: new GraphQLList(node), resolve: () => 7 },
    method: { type: GraphQLString },
    path: {
      type: GraphQLString,
      resolve: (_, __, ___, info) => `${info.parentType.name}.${info.fieldName}`,
    },
  }),
})
const schema = new GraphQLSchema({ query: node, types: [other] })
const rootValue = { name: 'root', size: 1, method: () => 'called' }

function fail(words: string): never {
  throw new Error(words)
}

/** Selections of fields, with and without aliases and fragments. */
const selection: fc.Memo<string> = fc.memo((depth) => {
  const leaf = fc.constantFrom(
    'name',
    'size',
    'echo(of: 1)',
    'echo(of: $number)',
    'echo(of: 2, plus: null)',
    'wrong',
    'fails',
    'failsLater',
    'method',
    'path',
    '__typename',
  )
  const inner = fc.constantFrom('later', 'nothing', 'missing', 'missingLater', 'many', 'holes', 'noList')
  const nested =
    depth <= 1 ? leaf : fc.tuple(inner, selection(depth - 1)).map(([field, fields]) => `${field} { ${fields} }`)
  const aliased = fc
    .tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', '__proto__'), fc.oneof(leaf, nested))
    .map(([alias, field]) => `${alias}: ${field}`)
  const ofNode = depth <= 1 ? leaf : selection(depth - 1)
  const spread = ofNode.map((fields) => `... on Node { ${fields} }`)
  const ofNamed = spread.map((part) => `name __typename ${part} ... on Other { name colour ... on Named { g: name } }`)
  const abstract = fc
    .tuple(fc.constantFrom('named', 'nameds', 'strange', 'asked', '... on Named'), ofNamed)
    .map(([into, fields]) => (into === 'asked' ? `asked { name }` : `${into} { ${fields} }`))
  const conditional = fc
    .tuple(
      fc.oneof(leaf, nested, spread, abstract),
      fc.constantFrom('@skip', '@include'),
      fc.constantFrom('$yes', 'true', 'false'),
    )
    .map(([part, directive, condition]) => {
      const end = part.includes('{') ? part.indexOf('{') : part.length
      return `${part.slice(0, end)} ${directive}(if: ${condition}) ${part.slice(end)}`
    })
  const often = [leaf, nested].map((arbitrary) => ({ weight: 3, arbitrary }))
  const field = fc.oneof(conditional, ...often, aliased, spread, abstract)
  return fc.array(field, { minLength: 1, maxLength: 4 }).map((fields) => fields.join(' '))
})

describe('a compiled query', () => {
  test('has the same result as with graphql-js: data, order, nulls and errors', async () => {
    let compared = 0
    await fc.assert(
      fc.asyncProperty(
        selection(3),
        fc.constantFrom(1.5, 2, 'words', undefined),
        fc.boolean(),
        async (fields, number, yes) => {
          const uses = fields.includes('$number')
          const declared = [
            ...(uses ? ['$number: Float!'] : []),
            ...(fields.includes('$yes') ? ['$yes: Boolean!'] : []),
          ]
          const document = parse(`query ${declared.length > 0 ? `(${declared.join()})` : ''} { ${fields} }`)
          if (validate(schema, document).length > 0) return
          compared++
          const args: ExecutionArgs = { schema, document, rootValue, variableValues: { number, yes } }
          const [first, again, expected] = [
            await executeCompiled(args),
            await executeCompiled(args),
            await execute(args),
          ]
          expect(textOf(first)).toBe(textOf(expected))
          expect(textOf(again)).toBe(textOf(expected))
        },
      ),
      { numRuns: 500 },
    )
    expect(compared).toBeGreaterThan(100)
    expect(counts.compiled).toBeGreaterThan(100)
  })

  test.each([
    'query { ...A ...B many { ...A } } fragment A on Node { name later { size } } fragment B on Node { later { name ...A } }',
    '{ later { name } later { size later { name } } later { later { size } } }',
    '{ ... on Named { h: name ... on Other { i: name } ... on Node { j: size } } }',
    '{ nameds { ...A ... on Node { k: size } } } fragment A on Named { __typename ...B } fragment B on Other { colour }',
  ])('has fields that are asked for in several places as one, and none of other types: %s', async (source) => {
    const args: ExecutionArgs = { schema, document: parse(source), rootValue }
    expect(textOf(await executeCompiled(args))).toBe(textOf(await execute(args)))
  })

  test('takes time linear in its fragments to compile', () => {
    const fragments = Array.from({ length: 60 }, (_, at) => {
      return `fragment F${at} on Node { ${at === 59 ? 'name' : `...F${at + 1} ...F${at + 1}`} }`
    })
    expect(isCompiled(schema, `{ ...F0 } ${fragments.join(' ')}`)).toBe(true)
  })

  test('leaves no rejection unhandled if one field fails before others', async () => {
    const document = parse('{ failsLater many { failsLater } wrong fails missing { name } }')
    const unhandled: unknown[] = []
    const listen = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', listen)
    await executeCompiled({ schema, document, rootValue })
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.off('unhandledRejection', listen)
    expect(unhandled).toEqual([])
  })

  test('runs the operation that is named, with its own variables', async () => {
    const document = parse('query A { name } query B($number: Float!) { echo(of: $number) }')
    const run = (operationName: string, variableValues: object): Promise<ExecutionResult> | ExecutionResult =>
      executeCompiled({ schema, document, rootValue, operationName, variableValues: { ...variableValues } })
    expect(textOf(await run('A', {}))).toBe('{"data":{"name":"root"}}')
    expect(textOf(await run('B', { number: 1 }))).toBe('{"data":{"echo":1.5}}')
    expect(textOf(await run('B', { number: 2 }))).toBe('{"data":{"echo":2.5}}')
    expect((await run('C', {})).errors).toHaveLength(1)
    expect((await executeCompiled({ schema, document, rootValue })).errors).toHaveLength(1)
  })
})

test('arguments with variables are computed once per run, and are one object for all parents of a field', async () => {
  const seen: unknown[] = []
  const resolve = (_: unknown, args: unknown): number => seen.push(args)
  const item = new GraphQLObjectType({
    name: 'Item',
    fields: { echo: { type: GraphQLInt, args: { of: { type: GraphQLInt } }, resolve } },
  })
  const items = { type: new GraphQLList(item), resolve: () => [{}, {}, {}] }
  const query = new GraphQLObjectType({ name: 'Query', fields: { items } })
  const cache = new OperationCache(new GraphQLSchema({ query }), defaultQueryLimits)
  const operation = cache.prepare('query ($n: Int) { items { echo(of: $n) } }', 'sender').select(null)
  for (const n of [1, 2]) {
    const compiled = operation?.compiledFor({ n })
    if (compiled == null || compiled === 'no place') throw new Error('The operation is not compiled.')
    await compiled.write({}, {}, { n }, Infinity)
  }
  expect(seen).toEqual([1, 1, 1, 2, 2, 2].map((of) => ({ of })))
  expect(new Set(seen).size).toBe(2)
})

describe('a compiled operation', () => {
  test.each(readdirSync(operations))('exists for each operation of REST in %s', (file) => {
    const source = readFileSync(path.join(operations, file), 'utf8')
    const names = parse(source).definitions.flatMap((definition) =>
      definition.kind === Kind.OPERATION_DEFINITION ? [definition.name?.value ?? null] : [],
    )
    expect(names).not.toEqual([])
    expect(names.filter((name) => !isCompiled(ownSchema, source, {}, name))).toEqual([])
  })

  test.each(['{ named { name } }', '{ nameds { __typename ... on Other { colour } } }', '{ ... on Named { name } }'])(
    'exists for an interface whose type is resolved by the value: %s',
    (source) => {
      expect(isCompiled(schema, source)).toBe(true)
    },
  )

  const typed =
    'query ($name: String!, $all: Boolean) { __type(name: $name) { ...t fields(includeDeprecated: $all) { name } } } '
  test.each([
    [
      'as GraphiQL does',
      getIntrospectionQuery({ inputValueDeprecation: true, schemaDescription: true, oneOf: true }),
      {},
    ],
    ['of an interface', `${typed} fragment t on __Type { __typename possibleTypes { name } }`, { name: 'Node' }],
    ['of a deprecated field', `${typed} fragment t on __Type { kind }`, { name: 'Node', all: true }],
    ['of a type that is not there', `${typed} fragment t on __Type { kind }`, { name: 'Nothing' }],
    ['beside other fields', '{ __schema { __typename queryType { name } } __typename }', {}],
  ])('is there for introspection %s, and gives the same', async (_, source, variableValues) => {
    for (const of of [schema, ownSchema]) {
      const args = { schema: of, document: parse(source), variableValues }
      const { compiled } = counts
      const text = textOf(await executeCompiled(args))
      expect(counts.compiled).toBe(compiled + 1)
      expect(text).toBe(textOf(await execute(args)))
    }
  })

  test('exists for objects by their ids', () => {
    const source = `{ nodes(ids: ["one"]) { id ... on Vault { positions { id } } ... on Strategy { name } } }`
    expect(isCompiled(ownSchema, source)).toBe(true)
  })

  test.each([
    ['a resolver that takes info', '{ path }'],
    ['an interface that takes info', '{ asked { name } }'],
    ['an argument that can not be', '{ echo(of: "words") }'],
  ])('is not there for %s', (_, source) => {
    expect(isCompiled(schema, source)).toBe(false)
  })
})

const noLimits = { ...defaultQueryLimits, depth: 1_000, cost: 1e12 }

/** Executes an operation compiled, and by graphql-js where that fails, as the executor does. */
async function executeCompiled(args: ExecutionArgs): Promise<ExecutionResult> {
  const source = args.document.loc?.source.body ?? ''
  const operation = caches.get(args.schema)?.prepare(source, 'sender').select(args.operationName)
  const { coerced } = operation === undefined ? {} : operation.coerce(args.variableValues)
  const compiled = coerced === undefined ? null : operation?.compiledFor(coerced)
  if (compiled == null || compiled === 'no place' || coerced === undefined) return execute(args)
  counts.compiled++
  try {
    const data: object = await compiled.write(args.rootValue, {}, coerced, Infinity)
    return { data: data as Record<string, unknown> }
  } catch {
    return execute(args)
  }
}

function isCompiled(of: GraphQLSchema, source: string, variables = {}, name: string | null = null): boolean {
  const compiled = caches.get(of)?.prepare(source, 'sender').select(name)?.compiledFor(variables)
  return compiled != null && compiled !== 'no place'
}

const caches = new Map([schema, ownSchema].map((of) => [of, new OperationCache(of, noLimits)]))
const counts = { compiled: 0 }

function textOf({ data, errors }: ExecutionResult): string {
  return resultText({ ...(errors && { errors }), ...(data !== undefined && { data }) })
}
