/**
 * Members of a JSON text whose numbers are amounts or prices. Quotes within strings are escaped, so that the pattern
 * cannot match there.
 */
const exactMembers = /"(\w*Usd|lower|upper|current)":(-?\d[\d.eE+-]*)/g

/**
 * Quotes the amounts and prices of a JSON text, so that the page shows all digits that the server sent: a JavaScript
 * number would lose some.
 */
export function quoteExactNumbers(json: string): string {
  return json.replaceAll(exactMembers, '"$1":"$2"')
}

/** Returns a response with amounts and prices as strings. */
export async function withExactTexts(response: Response): Promise<Response> {
  const { status, statusText, headers } = response
  return new Response(quoteExactNumbers(await response.text()), { status, statusText, headers })
}
