import { GraphQLError } from 'graphql'
import type { QueryBounds } from '../bounds.ts'
import { countTokens, measure, type MeasuredQuery, type QueryFigures } from './measure.ts'

type Bound = keyof QueryBounds

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
export function checkText(source: string, bounds: QueryBounds): GraphQLError | null {
  return over(bounds, 'bytes', Buffer.byteLength(source)) ?? over(bounds, 'tokens', countTokens(source))
}

/**
 * Checks what running a valid query would take, before it runs.
 * @returns its figures, and what is over its bound, or null
 */
export function checkExtent(
  query: MeasuredQuery,
  bounds: QueryBounds,
): { figures: QueryFigures; error: GraphQLError | null } {
  const figures = measure(query)
  const error =
    over(bounds, 'depth', figures.depth) ??
    over(bounds, 'aliases', figures.aliases) ??
    over(bounds, 'directives', figures.directives) ??
    over(bounds, 'cost', figures.cost, cheaper(figures))
  return { figures, error }
}

function over(bounds: QueryBounds, bound: Bound, figure: number, advice = ''): GraphQLError | null {
  const most = bounds[bound]
  if (figure <= most) return null
  return new GraphQLError(`The query is ${figure} ${inWords[bound]}; at most ${most} are answered.${advice}`, {
    extensions: { code: 'QUERY_OVER_BOUND', bound, figure, most, http: { status: 400 } },
  })
}

/** What to ask instead of what costs too much. */
function cheaper({ dearest }: QueryFigures): string {
  if (dearest.length === 0) return ' Ask for fewer fields, or for some of them in another query.'
  return ` Its dearest part is ${dearest.join(' with ')}: ask there for less, or for the rest in another query.`
}
