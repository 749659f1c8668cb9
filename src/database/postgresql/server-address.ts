/** A PostgreSQL server as an address names it, without user and password. */
export interface ServerAddress {
  /** Host and port, or the folder of a Unix socket: fit for a log. */
  readonly name: string
  readonly user: string
  readonly database: string
  /** Each form in which the password stands in the address, and the password itself. */
  readonly passwords: readonly string[]
}

const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
/** Options of the driver that it would take from the query as well, where text in their place breaks it. */
const driverOptions = [
  ...['Promise', 'types', 'stream', 'connection', 'connectionString', 'pipeline', 'binary', 'replication'],
  ...['connectionTimeoutMillis', 'keepAlive', 'keepAliveInitialDelayMillis'],
]

const badPort =
  'has a port that is not a number from 1 to 65535, or a : / ? or # in the password that is not percent-encoded'

/**
 * Finds out what is wrong with the address of a PostgreSQL server, before the driver reads it: the driver takes some
 * mistakes for another server, and prints the password with others.
 * @param text postgres://user:password@host:port/database?parameter=value
 * @returns the problem in words that repeat nothing of the address; null where there is none
 */
export function problemOfAddress(text: string): string | null {
  if (!/^postgres(ql)?:\/\//.test(text)) return 'is not a postgres:// address'
  const [, authority = '', path = '', query = ''] = /^\w+:\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/.exec(text) ?? []
  // Where the user's part ends too early, the @ that ends it stands after the host.
  const isCutShort = !authority.includes('@') && (path.includes('@') || (path === '' && query.includes('@')))
  if (text.includes('#') || isCutShort) {
    return 'in user, password or database has a / ? # or @ that is not percent-encoded: write / as %2F, ? as %3F, # as %23 and @ as %40'
  }
  if (!isDecodable(authority) || !isDecodable(path)) {
    return 'has a % that is no percent-encoding of UTF-8: write % as %25'
  }
  const parameters = new URLSearchParams(query)
  const hosts = authority.slice(authority.lastIndexOf('@') + 1)
  return (
    problemOfHost(hosts, parameters) ?? problemOfParameters(parameters) ?? (parsed(text) ? null : 'is not an address')
  )
}

function problemOfHost(hosts: string, parameters: URLSearchParams): string | null {
  const host = parameters.get('host') ?? hosts
  if (hosts.includes(',') || host.includes(',')) {
    return (
      'names several hosts, of which the driver would not choose one: name one address that always leads to the ' +
      'primary, such as a virtual IP, HAProxy or PgBouncer'
    )
  }
  const port = parameters.get('port') ?? /:([^\]]*)$/.exec(hosts)?.[1] ?? ''
  if (port !== '' && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) return badPort
  if (host === '' || host.startsWith(':')) {
    return 'names no host: write one, or ?host=/var/run/postgresql for a Unix socket'
  }
  return null
}

function problemOfParameters(parameters: URLSearchParams): string | null {
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
 * Reads an address that has no problem.
 * @throws {TypeError} where it has one
 */
export function readAddress(text: string): ServerAddress {
  const url = parsed(text)
  // Its own message would repeat the address.
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

/** Stands for the host where none is named beside a user, which URLs don't allow. */
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
