const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'always', style: 'long' })

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** Formats a time in Unix seconds. */
export function formatTime(seconds: number): string {
  return dateTime.format(seconds * 1000)
}

/** Returns a time in Unix seconds as ISO 8601. */
export function isoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

/** Formats an age in seconds, such as `5 minutes ago`. */
export function formatAgo(seconds: number): string {
  const [unit, length] = units.find(([, least]) => seconds >= least) ?? (['second', 1] as const)
  return relative.format(-Math.max(0, Math.floor(seconds / length)), unit)
}
