/** Returns the shortest unique suffixes of paths: the location of data directories is not public. */
export function shortNames(names: readonly string[]): string[] {
  return names.map((name) => {
    const parts = name.split(/[\\/]/)
    const ends = parts.map((_, index) => parts.slice(-index - 1).join('/'))
    return ends.find((end) => names.filter((other) => isEnd(end, other)).length === 1) ?? name
  })
}

function isEnd(end: string, name: string): boolean {
  return `/${name.replaceAll('\\', '/')}`.endsWith(`/${end}`)
}
