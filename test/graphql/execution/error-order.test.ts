import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { type FieldNode, GraphQLError, Kind, parse, visit } from 'graphql'
import { expect, test } from 'vitest'
import { inDocumentOrder } from '../../../src/graphql/execution/errors.ts'
import { emptyDatabase, readingBy } from '../../support/database.ts'
import { everything, vaultThatIs } from '../../support/everything.ts'
import { gatewayOn } from '../../support/gateway.ts'
import { apply } from '../../support/world.ts'

test('errors are in the order of the document, then of lists, in whichever order they occur', () => {
  const nodes: FieldNode[] = []
  visit(parse('{ b { d } a { c } }'), { Field: (node) => void nodes.push(node) })
  const node = (name: string): FieldNode =>
    nodes.find((each) => each.name.value === name) ?? { kind: Kind.FIELD, name: { kind: Kind.NAME, value: name } }
  const errors = [
    ['b', ['b']],
    ['d', ['b', 2, 'd']],
    ['d', ['b', 10, 'd']],
    ['a', ['a']],
    ['c', ['a', 'c']],
    ['c', ['z', 'c']],
  ].map(([name, path]) => new GraphQLError('', { nodes: node(name as string), path: path as (string | number)[] }))
  fc.assert(
    fc.property(fc.shuffledSubarray(errors, { minLength: errors.length }), (shuffled) => {
      expect(inDocumentOrder(shuffled).map(({ path }) => path)).toEqual(errors.map(({ path }) => path))
    }),
  )
})

test('the errors of a response have the same order whichever read fails first', async () => {
  const database = await emptyDatabase()
  await apply(database, everything)
  const { earning } = vaultThatIs
  const query = `{ vault(address: "${earning}") { address } strategy(id: "fresh") { id } past: vault(address: "${earning}", at: 1) { address } }`
  for (const slow of [0, 1, 2]) {
    let reads = 0
    const failing = readingBy(database, async () => {
      if (reads++ === slow) await wait(100)
      throw new Error('away')
    })
    const response = await gatewayOn(failing).post(query)
    const { errors } = (await response.json()) as { errors: { path: string[] }[] }
    expect(errors.map(({ path }) => path)).toEqual([['vault'], ['strategy'], ['past']])
  }
})
