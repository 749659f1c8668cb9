import fc from 'fast-check'
import {
  getNamedType,
  getNullableType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { ledgerRowGlobalId, positionGlobalId } from '../../src/domain/identity/global-id.ts'
import { schema } from '../../src/graphql/schema/schema.ts'
import { anyText, integerTexts, mostlyValid, timestampTexts, vaultAddresses } from './arbitraries.ts'

type Text = fc.Arbitrary<string>

const maxLevels = 7
const name = fc.constantFrom('a', 'b', 'ofVault', '_1', '__x', 'onion')
const directive = fc.constantFrom('@skip(if: false)', '@include(if: true)', '@skip(if: $no)', '@unknown', '@include')

/**
 * Generates GraphQL documents from the schema, with nested selections, aliases and fragments; most are valid.
 * @param knownVaults addresses of vaults that exist
 */
export function documentsFor(knownVaults: readonly string[]): Text {
  const { selection } = createWriter(knownVaults)
  const query = selection(schema.getQueryType() as GraphQLObjectType, maxLevels)
  const vault = selection(schema.getType('Vault') as GraphQLObjectType, 4)
  return fc.oneof(
    { weight: 8, arbitrary: query },
    fc.tuple(name, query).map(([fieldName, text]) => `query ${fieldName} ${text}`),
    fc.tuple(query, query).map(([one, two]) => `query a ${one} query b ${two}`),
    fc
      .tuple(fc.constantFrom('mutation', 'subscription', 'query query', 'fragment'), query)
      .map((parts) => parts.join(' ')),
    query.map((text) => `query ($no: Boolean! = false) ${text}`),
    query.map((text) => `{ ...whole ... on Query ${text} } fragment whole on Query ${text}`),
    vault.map((text) => `{ vaults(first: 3) { nodes { ...one ...one } } } fragment one on Vault ${text}`),
    vault.map((text) => `{ vaults { nodes ${text} ...round } } fragment round on VaultConnection { ...round }`),
    expensiveDocuments,
  )
}

/** Generates documents that are expensive to parse or validate, up to the limits and beyond. */
const expensiveDocuments: Text = fc
  .tuple(
    fc.constantFrom('{ strategies { id } }', '{ __typename }', '{ a: __typename }', 'id ', '{', '[', '"""', '"\\u{1}'),
    fc.constantFrom('{ strategies { id ', '{ vaults(after: ', '', '# ', '{ __schema { types { name fields { name '),
    fc.integer({ min: 1, max: 2_500 }),
  )
  .map(([repeated, prefix, count]) => prefix + repeated.repeat(count))

interface Writer {
  /** Generates selection sets of a type. @param levels maximum depth */
  selection(type: ObjectOrInterface, levels: number): Text
}

type ObjectOrInterface = GraphQLObjectType | GraphQLInterfaceType

/** Creates generators of selections; each is created once for a type and depth. */
function createWriter(knownVaults: readonly string[]): Writer {
  const selections = new Map<string, Text>()

  function selection(type: ObjectOrInterface, levels: number): Text {
    const key = `${type.name} ${levels}`
    const existing = selections.get(key)
    if (existing !== undefined) return existing
    const fields = Object.values(type.getFields()).filter(
      (each) => levels > 1 || !isCompositeType(getNamedType(each.type)),
    )
    const valid = fc.oneof(
      fc.constant('__typename'),
      ...fields.map((each) => field(each, levels)),
      ...typeConditions(type, levels).map((each) =>
        selection(each, levels - 1).map((text) => `... on ${each.name} ${text}`),
      ),
    )
    const invalid = fc.constantFrom('nothing', 'address { id }', '...lost', 'vaults', '__schema { types { name } }')
    const parts = fc.array(fc.oneof({ weight: 60, arbitrary: valid }, { weight: 1, arbitrary: invalid }), {
      minLength: 1,
      maxLength: 4,
    })
    const text = parts.map((all) => `{ ${all.join(' ')} }`)
    selections.set(key, text)
    return text
  }

  function field({ name: fieldName, type, args }: GraphQLField<unknown, unknown>, levels: number): Text {
    const inner = getNamedType(type)
    return fc
      .tuple(
        oneIn(
          name.map((alias) => `${alias}: `),
          8,
        ),
        argumentsOf(args),
        oneIn(directive, 30),
        isObjectType(inner) || isInterfaceType(inner) ? selection(inner, levels - 1) : fc.constant(''),
      )
      .map(([alias, argumentText, directed, selected]) => `${alias}${fieldName}${argumentText} ${directed} ${selected}`)
  }

  function argumentsOf(args: readonly GraphQLArgument[]): Text {
    const argumentText = args.map((each) => {
      const text = valueOf(each.type, each.name).map((value) => `${each.name}: ${value}`)
      return isNonNullType(each.type) && each.defaultValue === undefined ? usually(text) : oneIn(text, 2)
    })
    return fc.tuple(...argumentText).map((texts) => {
      const all = texts.filter((text) => text !== '')
      return all.length === 0 ? '' : `(${all.join(', ')})`
    })
  }

  function valueOf(type: GraphQLInputType, of: string): Text {
    const inner = getNullableType(type)
    return mostlyValid(
      validValue(inner, of),
      fc.constantFrom('null', '$lost', '""', '{}', '[]', '-1', '1e400', 'X', '[[1]]'),
    )
  }

  function validValue(type: GraphQLInputType, of: string): Text {
    if (isListType(type))
      return fc.array(valueOf(type.ofType, of), { maxLength: 3 }).map((all) => `[${all.join(', ')}]`)
    if (isEnumType(type)) return fc.constantFrom(...type.getValues().map((value) => value.name))
    if (isInputObjectType(type)) return inputObject(Object.values(type.getFields()))
    const { name: scalar } = getNamedType(type)
    if (scalar === 'Address') return vaultAddresses(knownVaults).map(quoted)
    if (scalar === 'ID') return ids.map(quoted)
    return scalar === 'Int'
      ? integerTexts.map(numberOrString)
      : scalar === 'UnixTime'
        ? timestampTexts.map(numberOrString)
        : stringValues.map(quoted)
  }

  const ofVault = vaultAddresses(knownVaults)
  const ids = fc.oneof(
    ofVault,
    fc.tuple(ofVault, fc.oneof(fc.constantFrom('first', 'out', ''), anyText)).map((key) => positionGlobalId(...key)),
    fc.tuple(ofVault, anyHash, fc.integer({ min: -1, max: 3 })).map((key) => ledgerRowGlobalId(...key)),
    stringValues,
  )

  /**
   * Returns the types of inline fragments within a type: the implementations of an interface, or the interfaces of an
   * object.
   */
  function typeConditions(type: ObjectOrInterface, levels: number): readonly ObjectOrInterface[] {
    if (levels <= 1) return []
    return isInterfaceType(type) ? schema.getPossibleTypes(type) : type.getInterfaces()
  }

  function inputObject(fields: readonly { readonly name: string; readonly type: GraphQLInputType }[]): Text {
    const parts = fields.map(({ name: key, type }) =>
      oneIn(
        valueOf(type, key).map((value) => `${key}: ${value}`),
        2,
      ),
    )
    return fc.tuple(...parts).map((all) => `{ ${all.filter((part) => part !== '').join(', ')} }`)
  }

  return { selection }
}

const stringValues = fc.oneof(fc.constantFrom('seasoned', 'fresh', 'eth-core', 'WETH', 'uniswap-v3', 'WzFd'), anyText)

const anyHash = fc
  .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 })
  .map((digits) => `0x${digits}`)

/** Generates a text with the probability 1/count, otherwise an empty text. */
function oneIn(text: Text, count: number): Text {
  return fc.oneof({ weight: 1, arbitrary: text }, { weight: count - 1, arbitrary: fc.constant('') })
}

/** Generates a text, and an empty text once in 21 times. */
function usually(text: Text): Text {
  return fc.oneof({ weight: 20, arbitrary: text }, { weight: 1, arbitrary: fc.constant('') })
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

/** Formats a number as a literal, and other text as a string, so that the document can be parsed. */
function numberOrString(text: string): string {
  return /^-?\d+(\.\d+)?$/.test(text) ? text : quoted(text)
}
