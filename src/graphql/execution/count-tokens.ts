import { Lexer, Source, TokenKind } from 'graphql'

/** Tokens of a document; what can't be read ends the count, since parsing will refuse it there. */
export function countTokens(source: string): number {
  const lexer = new Lexer(new Source(source))
  let tokens = 0
  try {
    while (lexer.advance().kind !== TokenKind.EOF) tokens++
  } catch {
    return tokens
  }
  return tokens
}
