/** Pages of a curve as text with a point a line, ascending by time. */
interface MergedPages {
  readonly text: string
  /**
   * Returns the number of lines of the buckets of a group.
   * @param group index of the group
   * @param buckets number of buckets in a group
   */
  linesOf(group: number, buckets: number): number
}

/**
 * Merges the two points of each bucket by net of flows with those by other curves.
 * @param pages pages separated by record separators: lines of the equity page, a vertical tab, lines of the curve page, each
 *   after the number of its bucket in the page and a space
 */
export function mergedPages(pages: string): MergedPages {
  const buckets = pages === '' ? [] : pages.split('\x1e').flatMap(bucketsOf)
  return {
    text: buckets.map((lines) => lines.join('\n')).join('\n'),
    linesOf: (group, size) =>
      buckets.slice(group * size, (group + 1) * size).reduce((count, lines) => count + lines.length, 0),
  }
}

/** Returns the lines of each bucket of a page, ascending by time. */
function bucketsOf(page: string): string[][] {
  const [net = '', others = ''] = page.split('\v')
  const buckets: string[][] = []
  net.split('\n').forEach((line, index) => {
    if (index % 2 === 0) buckets.push([line])
    else buckets.at(-1)?.push(line)
  })
  if (others === '') return buckets
  for (const other of others.split('\n')) {
    const at = other.indexOf(' ')
    buckets[Number(other.slice(0, at))]?.push(other.slice(at + 1))
  }
  return buckets.map((lines) => (lines.length === 2 ? lines : lines.sort((one, two) => timeOf(one) - timeOf(two))))
}

function timeOf(line: string): number {
  return Number(line.slice(0, line.indexOf(' ')))
}
