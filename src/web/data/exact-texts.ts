/** Amounts and prices in a JSON text. Quotes within strings are escaped, so that none of these match. */
const exactMembers = /"(\w*Usd|lower|upper|current)":(-?\d[\d.eE+-]*)/g

/** Quotes the amounts and prices of a JSON text, because JavaScript numbers would lose digits. */
export function quoteExactNumbers(json: string): string {
  return json.replaceAll(exactMembers, '"$1":"$2"')
}

/** Returns a response with amounts and prices as strings. */
export async function withExactTexts(response: Response): Promise<Response> {
  const { status, statusText, headers } = response
  return new Response(quoteExactNumbers(await response.text()), { status, statusText, headers })
}
