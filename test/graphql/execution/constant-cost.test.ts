import fc from 'fast-check'
import {
  getNamedType,
  getNullableType,
  getVariableValues,
  type GraphQLCompositeType,
  type GraphQLInputType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  type OperationDefinitionNode,
  type NamedTypeNode,
  parse,
  parseType,
  typeFromAST,
} from 'graphql'
import { expect, test, vi } from 'vitest'
import { costCalculator } from '../../../src/graphql/execution/cost/cost-calculator.ts'
import type { QueryCost } from '../../../src/graphql/execution/cost/query-cost.ts'
import { schema } from '../../../src/graphql/schema/schema.ts'
import { routes } from '../../../src/rest/routes.ts'

const scalars: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  Address: fc.constant(`0x${'a1'.repeat(20)}`),
  Boolean: fc.boolean(),
  ID: fc.constantFrom('one', 'two'),
  Int: fc.integer({ min: 1, max: 60 }),
  String: fc.constantFrom('USDC', 'uniswap-v3'),
  UnixTime: fc.constant(1_700_000_000),
  Usd: fc.constant('12.5'),
}

/** Values of an input type, as JSON. */
function valuesOf(type: GraphQLInputType): fc.Arbitrary<unknown> {
  if (!isNonNullType(type))
    return fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 9, arbitrary: some(type) })
  return some(type)
}

/** Takes the type by name: `fc.gen` compares the arguments of arbitraries, which is slow for a type of the schema. */
function valuesOfTypeNamed(name: string): fc.Arbitrary<unknown> {
  return valuesOf(typeFromAST(schema, parseType(name) as NamedTypeNode) as GraphQLInputType)
}

function some(type: GraphQLInputType): fc.Arbitrary<unknown> {
  const nullable = getNullableType(type)
  if (isListType(nullable)) return fc.array(valuesOf(nullable.ofType), { maxLength: 4 })
  if (isEnumType(nullable)) return fc.constantFrom(...nullable.getValues().map(({ name }) => name))
  if (!isInputObjectType(nullable)) return scalars[nullable.toString()] as fc.Arbitrary<unknown>
  const fields = Object.values(nullable.getFields())
  const requiredKeys = fields.filter(({ type }) => isNonNullType(type)).map(({ name }) => name)
  return fc.record(Object.fromEntries(fields.map(({ name, type }) => [name, valuesOf(type)])), { requiredKeys })
}

/** Returns a value as a GraphQL literal. */
function literal(type: GraphQLInputType, value: unknown): string {
  const nullable = getNullableType(type)
  if (value === null) return 'null'
  if (isListType(nullable)) {
    return `[${(value as unknown[]).map((item) => literal(nullable.ofType, item)).join(' ')}]`
  }
  if (!isInputObjectType(nullable)) return isEnumType(nullable) ? (value as string) : JSON.stringify(value)
  const types = nullable.getFields()
  const fields = Object.entries(value as object).map(
    ([name, each]) => `${name}: ${literal(types[name]?.type as GraphQLInputType, each)}`,
  )
  return `{ ${fields.join(' ')} }`
}

/** Returns at most three of these names. */
function someOf(names: readonly string[]): fc.Arbitrary<string[]> {
  return fc.subarray([...names], { maxLength: Math.min(3, names.length) })
}

/** One operation in two forms: arguments by variables and by literals, and all of them by literals. */
class Forms {
  readonly definitions: string[] = []
  readonly fragments: string[] = []
  readonly variables: Record<string, unknown> = { yes: true, no: false }

  constructor(readonly generate: fc.GeneratorValue) {}

  /** Returns a selection of a type in both forms. */
  selection(type: GraphQLCompositeType, depth: number): readonly [mixed: string, literal: string] {
    const pick = this.generate
    const fields = 'getFields' in type ? Object.values(type.getFields()) : []
    const usable = fields.filter((field) => depth > 1 || !isCompositeType(getNamedType(field.type)))
    const names = pick(
      someOf,
      usable.map(({ name }) => name),
    )
    const parts = usable
      .filter(({ name }) => names.includes(name))
      .map((field) => {
        const inner = getNamedType(field.type)
        const [mixed, plain] = isCompositeType(inner) ? this.selection(inner, depth - 1) : ['', '']
        const args = field.args.map(({ name, type }) => this.#argument(name, type))
        const write = (place: 0 | 1, selected: string): string => {
          const written = args.map((each) => each[place]).filter((each) => each !== '')
          return `${field.name}${written.length === 0 ? '' : `(${written.join(' ')})`} ${selected}`
        }
        const condition = pick(fc.constantFrom, '', '', '@include(if: $no)', '@skip(if: $yes)', '@skip(if: $no)')
        return [write(0, `${condition} ${mixed}`), write(1, plain)] as const
      })
    const mixed = `{ __typename ${parts.map(([each]) => each).join(' ')} }`
    const literalForm = `{ __typename ${parts.map(([, each]) => each).join(' ')} }`
    if (!isObjectType(type) || depth > 2 || pick(fc.boolean)) return [mixed, literalForm]
    const name = `f${this.fragments.length}`
    this.fragments.push(`fragment ${name} on ${type.name} ${mixed}`)
    return [`{ ...${name} }`, literalForm]
  }

  #argument(name: string, type: GraphQLInputType): readonly [mixed: string, literal: string] {
    const pick = this.generate
    if (!isNonNullType(type) && pick(fc.boolean)) return ['', '']
    const value = pick(valuesOfTypeNamed, type.toString())
    const literalForm = `${name}: ${literal(type, value)}`
    const way = pick(fc.constantFrom, 'literal', 'variable', 'default', 'absent')
    if (way === 'literal') return [literalForm, literalForm]
    const variable = `v${this.definitions.length}`
    if (way === 'absent' && !isNonNullType(type)) {
      this.definitions.push(`$${variable}: ${type.toString()}`)
      return [`${name}: $${variable}`, '']
    }
    const byDefault = way === 'default' ? ` = ${literal(type, value)}` : ''
    this.definitions.push(`$${variable}: ${type.toString()}${byDefault}`)
    if (way !== 'default') this.variables[variable] = value
    return [`${name}: $${variable}`, literalForm]
  }
}

function costOf(text: string, variables: Readonly<Record<string, unknown>>): QueryCost {
  const document = parse(text)
  const operation = document.definitions[0] as OperationDefinitionNode
  const { cost } = costCalculator(schema, document)(operation)
  const { coerced, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
  if (coerced === undefined) throw errors[0] ?? new Error('The variables cannot be coerced.')
  return typeof cost === 'function' ? cost(coerced) : cost
}

test('An operation has the same cost with arguments in variables or literals, and with @skip and @include', () => {
  fc.assert(
    fc.property(fc.gen(), (generate) => {
      const forms = new Forms(generate)
      const [mixed, plain] = forms.selection(schema.getQueryType() as GraphQLCompositeType, 4)
      const definitions = ['$yes: Boolean!', '$no: Boolean!', ...forms.definitions].join(', ')
      const text = `query (${definitions}) ${mixed} ${forms.fragments.join(' ')}`
      const [{ units, hasLongReads }, ofPlain] = [costOf(text, forms.variables), costOf(plain, {})]
      expect({ units, hasLongReads }).toEqual({ units: ofPlain.units, hasLongReads: ofPlain.hasLongReads })
    }),
    { numRuns: 300, endOnFailure: true },
  )
})

test('A fragment is priced once for all operations of its document', () => {
  const operations = Array.from({ length: 80 }, (_, at) => `query Q${at} { ...F }`)
  const document = parse(`${operations.join(' ')} fragment F on Query { strategies { id name } }`)
  const price = costCalculator(schema, document)
  const getType = vi.spyOn(schema, 'getType')
  const priced = document.definitions.slice(0, -1).map((each) => price(each as OperationDefinitionNode))
  expect(priced).toEqual(priced.map(() => priced[0]))
  expect(getType).toHaveBeenCalledTimes(1)
  getType.mockRestore()
})

test('The price of a document depends on no variable unless an argument changes it', () => {
  const constant = routes.flatMap(({ path, document: fixed }) => {
    const document = parse(fixed.text.toString())
    const { cost } = costCalculator(schema, document)(document.definitions[0] as OperationDefinitionNode)
    return typeof cost === 'function' ? [] : [path]
  })
  expect(constant).toEqual(['/vault/:address/snapshot', '/strategies', '/universe', '/universe/pairs'])
})
