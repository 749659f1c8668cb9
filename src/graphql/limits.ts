import { GraphQLError } from 'graphql'
import { queryBounds } from './bounds.ts'
import { countTokens, measure, type MeasuredQuery, type QueryFigures } from './measure.ts'

type Bound = keyof typeof queryBounds

const inWords: Record<Bound, string> = {
  bytes: 'bytes long',
  tokens: 'tokens long',
  depth: 'levels deep',
  aliases: 'aliases in number',
  directives: 'directives in number',
  cost: 'fields in cost (lists count their selection once for each item)',
}

/**
 * Checks the text of a query, before it is parsed.
 * @returns what is over its bound, or null
 */
export function checkText(source: string): GraphQLError | null {
  return over('bytes', Buffer.byteLength(source)) ?? over('tokens', countTokens(source))
}

/**
 * Checks what running a valid query would take, before it runs.
 * @returns its figures, and what is over its bound, or null
 */
export function checkExtent(query: MeasuredQuery): { figures: QueryFigures; error: GraphQLError | null } {
  const figures = measure(query)
  const error =
    over('depth', figures.depth) ??
    over('aliases', figures.aliases) ??
    over('directives', figures.directives) ??
    over('cost', figures.cost)
  return { figures, error }
}

function over(bound: Bound, figure: number): GraphQLError | null {
  const most = queryBounds[bound]
  if (figure <= most) return null
  return new GraphQLError(`The query is ${figure} ${inWords[bound]}; at most ${most} are answered.`, {
    extensions: { code: 'QUERY_OVER_BOUND', bound, figure, most, http: { status: 400 } },
  })
}
