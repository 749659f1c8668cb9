export const metricsPath = '/metrics'

/** Paths for operators: they need no API key and have no rate limit. */
export const probePaths: readonly string[] = ['/health', '/ready', metricsPath]
