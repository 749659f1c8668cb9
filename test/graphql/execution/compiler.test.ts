import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import {
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLFloat,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  Kind,
  type OperationDefinitionNode,
  parse,
  validate,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { executeCompiled } from '../../../src/graphql/execution/compiler/compiler.ts'
import { resultText } from '../../../src/graphql/execution/compiler/json-text.ts'
import { compileOperation } from '../../../src/graphql/execution/compiler/compile-operation.ts'
import { schema as ownSchema } from '../../../src/graphql/schema/schema.ts'

const operations = path.resolve(import.meta.dirname, '../../../src/rest/operations')

/** Fields that give, refuse, fail, and give what they must not, at once and later. */
const node: GraphQLObjectType = new GraphQLObjectType({
  name: 'Node',
  fields: () => ({
    name: { type: GraphQLString },
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
const schema = new GraphQLSchema({ query: node })
const rootValue = { name: 'root', size: 1, method: () => 'called' }

function fail(words: string): never {
  throw new Error(words)
}

/** Selections of fields, under their names or others, in fragments or not. */
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
  const spread = depth <= 1 ? leaf : selection(depth - 1).map((fields) => `... on Node { ${fields} }`)
  const field = fc.oneof({ weight: 3, arbitrary: leaf }, { weight: 3, arbitrary: nested }, aliased, spread)
  return fc.array(field, { minLength: 1, maxLength: 4 }).map((fields) => fields.join(' '))
})

describe('a compiled query', () => {
  test('is answered as graphql-js answers it: data, order, nulls and errors', async () => {
    let compared = 0
    await fc.assert(
      fc.asyncProperty(selection(3), fc.constantFrom(1.5, 2, 'words', undefined), async (fields, number) => {
        const uses = fields.includes('$number')
        const document = parse(`query ${uses ? '($number: Float!)' : ''} { ${fields} }`)
        if (validate(schema, document).length > 0) return
        compared++
        const args: ExecutionArgs = { schema, document, rootValue, variableValues: { number } }
        const [first, again, expected] = [await executeCompiled(args), await executeCompiled(args), await execute(args)]
        expect(textOf(first)).toBe(textOf(expected))
        expect(textOf(again)).toBe(textOf(expected))
      }),
      { numRuns: 500 },
    )
    expect(compared).toBeGreaterThan(100)
  })

  test.each([
    'query { ...A ...B many { ...A } } fragment A on Node { name later { size } } fragment B on Node { later { name ...A } }',
    '{ later { name } later { size later { name } } later { later { size } } }',
  ])('has fields that are asked for in several places as one: %s', async (source) => {
    const args: ExecutionArgs = { schema, document: parse(source), rootValue }
    expect(textOf(await executeCompiled(args))).toBe(textOf(await execute(args)))
  })

  test('takes no longer to plan than its fragments are long', () => {
    const fragments = Array.from({ length: 60 }, (_, at) => {
      return `fragment F${at} on Node { ${at === 59 ? 'name' : `...F${at + 1} ...F${at + 1}`} }`
    })
    expect(isPlanned(schema, `{ ...F0 } ${fragments.join(' ')}`)).toBe(true)
  })

  test('leaves no rejection unhandled where one field fails before others do', async () => {
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

describe('a plan', () => {
  test.each(readdirSync(operations))('is there for the document of REST %s', (file) => {
    expect(isPlanned(ownSchema, readFileSync(path.join(operations, file), 'utf8'))).toBe(true)
  })

  test.each([
    ['directives', '{ name @include(if: true) }'],
    ['introspection', '{ __schema { queryType { name } } }'],
    ['a resolver that asks how it is asked', '{ path }'],
    ['an argument that can not be', '{ echo(of: "words") }'],
  ])('is not there for %s', (_, source) => {
    expect(isPlanned(schema, source)).toBe(false)
  })
})

function isPlanned(of: GraphQLSchema, source: string): boolean {
  const document = parse(source)
  const operation = document.definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION)
  return compileOperation(of, document, operation as OperationDefinitionNode) !== null
}

function textOf({ data, errors }: ExecutionResult): string {
  return resultText({ ...(errors && { errors }), ...(data !== undefined && { data }) })
}
