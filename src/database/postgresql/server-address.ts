/** Address of a PostgreSQL server, without user and password. */
export interface ServerAddress {
  /** Host and port, or the folder of a Unix socket; contains no secret and may be logged. */
  readonly name: string
  readonly user: string
  readonly database: string
  /** Each spelling of the password in the address, encoded and decoded, for masking. */
  readonly passwords: readonly string[]
}

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
/** Options of the pg driver that it would also read from the query string, where a string is an invalid value. */
const driverOptions = [
  ...['Promise', 'types', 'stream', 'connection', 'connectionString', 'pipeline', 'binary', 'replication'],
  ...['connectionTimeoutMillis', 'keepAlive', 'keepAliveInitialDelayMillis'],
]

const badPort =
  'has a port that is not a number from 1 to 65535, or a : / ? or # in the password that is not percent-encoded'

/**
 * Validates the address of a PostgreSQL server before the driver parses it: with some invalid addresses the driver connects
 * to another server, with others it prints the password.
 * @param text postgres://user:password@host:port/database?parameter=value
 * @returns a message that quotes nothing of the address; null where it is valid
 * @see PostgreSQL documentation, "Connection Strings"
 */
export function addressProblem(text: string): string | null {
  if (!/^postgres(ql)?:\/\//.test(text)) return 'is not a postgres:// address'
  const [, authority = '', path = '', query = ''] = /^\w+:\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/.exec(text) ?? []
  // Where an unencoded delimiter ends the user part early, its @ appears after the host.
  const isCutShort = !authority.includes('@') && (path.includes('@') || (path === '' && query.includes('@')))
  if (text.includes('#') || isCutShort) {
    return 'in user, password or database has a / ? # or @ that is not percent-encoded: write / as %2F, ? as %3F, # as %23 and @ as %40'
  }
  if (!isDecodable(authority) || !isDecodable(path)) {
    return 'has a % that is no percent-encoding of UTF-8: write % as %25'
  }
  const parameters = new URLSearchParams(query)
  const hosts = authority.slice(authority.lastIndexOf('@') + 1)
  return hostProblem(hosts, parameters) ?? parametersProblem(parameters) ?? (parsed(text) ? null : 'is not an address')
}

function hostProblem(hosts: string, parameters: URLSearchParams): string | null {
  const host = parameters.get('host') ?? hosts
  if (hosts.includes(',') || host.includes(',')) {
    return (
      'names several hosts, of which the driver would not choose one: name one address that always leads to the ' +
      'primary, such as a virtual IP, HAProxy or PgBouncer'
    )
  }
  const port = parameters.get('port') ?? /:([^\]:]*)$/.exec(hosts)?.[1] ?? ''
  if (port !== '' && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) return badPort
  if (host === '' || host.startsWith(':')) {
    return 'names no host: write one, or ?host=/var/run/postgresql for a Unix socket'
  }
  return null
}

function parametersProblem(parameters: URLSearchParams): string | null {
  const { sslmode } = Object.fromEntries(parameters)
  if (sslmode !== undefined && !sslModes.includes(sslmode))
    return `has an sslmode that is none of ${sslModes.join(', ')}`
  if (parameters.has('dbname')) {
    return 'has the parameter dbname, which the driver does not know: write the database after the host'
  }
  const option = driverOptions.find((name) => parameters.has(name))
  return option === undefined ? null : `has the parameter ${option}, which is not one of a connection: leave it out`
}

/**
 * Parses a valid address.
 * @throws {TypeError} when the address is not valid
 */
export function readAddress(text: string): ServerAddress {
  const url = parsed(text)
  // The parser's own message would quote the address.
  if (url === null) throw new TypeError('The address of the PostgreSQL server was not checked')
  const { searchParams } = url
  const host = searchParams.get('host') ?? (url.hostname === noHost ? '' : decodeURIComponent(url.hostname))
  const port = searchParams.get('port') ?? url.port
  const password = searchParams.get('password')
  const user = searchParams.get('user') ?? decodeURIComponent(url.username)
  const passwords = [url.password, decodeURIComponent(url.password), ...(password === null ? [] : [password])]
  return {
    name: port === '' || host.startsWith('/') ? host : `${host}:${port}`,
    user,
    database: decodeURIComponent(url.pathname.slice(1)) || user,
    passwords: [...passwords, ...(password === null ? [] : [encodeURIComponent(password)])].filter(
      (form) => form !== '',
    ),
  }
}

/** Placeholder for a missing host after a user, which URLs do not allow. */
const noHost = 'no-host'

function parsed(text: string): URL | null {
  const whole = text.replace(/@(?=[/?]|$)/, `@${noHost}`)
  return URL.canParse(whole) ? new URL(whole) : null
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
