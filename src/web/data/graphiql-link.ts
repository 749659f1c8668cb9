/** Enums among the types of the explorer's variables, and among the members of their input objects. */
const enumTypes = /AssetCategory|EventType/
const enumMembers: readonly string[] = ['direction', 'field', 'status']

/**
 * Returns a link that opens a query in GraphiQL. Variables become default values in the query, because GraphiQL does
 * not read variables from a link.
 */
export function graphiqlLink(document: string, variables: Readonly<Record<string, unknown>>): string {
  // The generated text indents the first lines of fragments.
  const text = document.trim().replaceAll(/\n +(?=fragment )/g, '\n\n')
  const query = text.replaceAll(/\$(\w+): ([\w![\]]+)(?=[,)])/g, (declared, name: string, type: string) => {
    const value = variables[name]
    return value == null ? declared : `${declared} = ${literalOf(value, enumTypes.test(type))}`
  })
  return `graphql?query=${encodeURIComponent(query)}`
}

/** Returns a value as a GraphQL literal. */
function literalOf(value: unknown, isEnum: boolean): string {
  if (Array.isArray(value)) return `[${value.map((item) => literalOf(item, isEnum)).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member != null)
    return `{ ${members.map(([name, member]) => `${name}: ${literalOf(member, enumMembers.includes(name))}`).join(', ')} }`
  }
  return isEnum ? String(value) : JSON.stringify(value)
}
