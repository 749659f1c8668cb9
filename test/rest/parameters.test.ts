import { expect, test } from 'vitest'
import { eventTypesParameter, readParameters } from '../../src/rest/parameters.ts'

test('an event type that is named many times is one', () => {
  const parameters = { type: eventTypesParameter('type', 'The types.') }
  const query = new URLSearchParams({ type: 'deposit,exit,'.repeat(600) + 'deposit' })
  expect(readParameters(parameters, query)).toEqual({ type: ['DEPOSIT', 'EXIT'] })
})
