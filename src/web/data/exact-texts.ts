/**
 * Members of a JSON text whose numbers are amounts or prices. A quote within a string is escaped, so that no string
 * contains one of these.
 */
const exactMembers = /"(\w*Usd|lower|upper|current)":(-?\d[\d.eE+-]*)/g

/**
 * Puts amounts and prices of a JSON text between quotes: the page shows the digits that the server has sent, which a
 * number of JavaScript cannot hold all of.
 */
export function quoteExactNumbers(json: string): string {
  return json.replaceAll(exactMembers, '"$1":"$2"')
}

/** Returns a response with amounts and prices as texts. */
export async function withExactTexts(response: Response): Promise<Response> {
  const { status, statusText, headers } = response
  return new Response(quoteExactNumbers(await response.text()), { status, statusText, headers })
}
