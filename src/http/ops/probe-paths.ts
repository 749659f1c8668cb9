export const metricsPath = '/metrics'

/** Paths for operators: they need no API key and have no rate limit. */
export const probePaths: readonly string[] = ['/health', '/ready', metricsPath]

/** Returns whether a request is for a probe. */
export function isProbe({ path }: { readonly path: string }): boolean {
  return probePaths.includes(path)
}
