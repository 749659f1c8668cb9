/**
 * Returns how much of a capacity one client may hold: half of it if the others hold nothing, and a smaller part of what
 * they leave, the less that is. If each could hold half of what the others leave, 10 clients would take all of 1,000;
 * this way 44 leave 33 of it, and 77 take all.
 * @param max the whole capacity
 * @param left what the others leave of it
 */
export function fairShare(max: number, left: number): number {
  return left <= 0 ? 0 : Math.ceil((left * left) / (2 * max))
}
