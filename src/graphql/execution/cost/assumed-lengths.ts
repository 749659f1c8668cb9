/** Assumed length of lists that have no length argument, for query costs. */
export const assumedLengths: Readonly<Record<string, number>> = {
  strategies: 20,
  pairs: 20,
  positions: 5,
  feeds: 5,
  assets: 50,
  venues: 3,
  // Lists of this schema's introspection.
  types: 40,
  fields: 8,
  args: 2,
  inputFields: 3,
  enumValues: 6,
  directives: 5,
  interfaces: 1,
  possibleTypes: 4,
  locations: 5,
}
