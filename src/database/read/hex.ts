/** Returns the SQL expression of bytes as `0x` and hexadecimal digits in lower case. */
export function hexOf(bytes: string): string {
  return `'0x' || encode(${bytes}, 'hex')`
}

/** Returns the SQL expression of the bytes that a text of `0x` and hexadecimal digits means. */
export function bytesOf(text: string): string {
  return `decode(substr(${text}, 3), 'hex')`
}
