import { expect, test } from 'vitest'
import { eventTypesParameter, readParameters } from '../../src/rest/parameters.ts'

test('a repeated event type counts once', () => {
  const parameters = { type: eventTypesParameter('type', 'The types.') }
  const query = new URLSearchParams({ type: 'deposit,exit,'.repeat(600) + 'deposit' })
  expect(readParameters(parameters, { query, target: '' })).toEqual({ type: ['DEPOSIT', 'EXIT'] })
})
