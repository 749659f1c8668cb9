import { LRUCache } from 'lru-cache'
import type { HttpLimits } from '../../limits.ts'
import { problem, retryLater } from '../../rest/problem.ts'
import type { Answer, IncomingRequest } from '../request-context.ts'

/** The refusal of a request whose target or headers are out of bounds, or whose Host names none. */
export function outOfBounds(request: IncomingRequest, bounds: HttpLimits): Answer | undefined {
  const { target, headerCount } = request
  const targetBytes = Buffer.byteLength(target)
  if (targetBytes > bounds.targetBytes) {
    const detail = `Path and query have ${targetBytes} bytes, more than ${bounds.targetBytes}.`
    return problem('TARGET_TOO_LONG', detail)
  }
  if (headerCount > bounds.headers) {
    return problem('HEADERS_TOO_LARGE', `There are ${headerCount} headers, more than ${bounds.headers}.`)
  }
  if (request.flaw !== null) return closing(problem('BAD_REQUEST', request.flaw))
  return isHost(request.header('host') ?? '') ? undefined : problem('BAD_REQUEST', 'The header Host names no host.')
}

/** A refusal that ends its connection: a proxy before it may take what follows for the rest of the same request. */
function closing(refusal: Answer): Answer {
  return { ...refusal, headers: { ...refusal.headers, connection: 'close' } }
}

/** A gateway is called by few names. */
const hosts = new LRUCache<string, boolean>({ max: 100 })

/** Whether it is a name or an address, perhaps with a port; a client that knows none sends it empty. */
function isHost(host: string): boolean {
  const known = hosts.get(host)
  if (known !== undefined) return known
  const is = host === '' || (/^[^\s/?#@\\]+$/.test(host) && URL.canParse(`http://${host}`))
  hosts.set(host, is)
  return is
}

/** The refusal of a request whose body is out of bounds. */
export function tooLarge({ bodyBytes }: HttpLimits): Answer {
  return problem('BODY_TOO_LARGE', `The body has more than ${bodyBytes} bytes.`)
}

/** The refusal of a request while the process has as many at hand as it may. */
export function overloaded(): Answer {
  return retryLater('OVERLOADED', 'Too many requests wait for their answers here. Ask again later.')
}

/** What is answered where the answer itself is too late. */
export function lateAnswer(seconds: number): Answer {
  return retryLater('DEADLINE_EXCEEDED', `The answer took more than ${seconds} s. Ask for less, or again later.`)
}
