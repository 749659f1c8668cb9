import { setTimeout as wait } from 'node:timers/promises'
import { type Client, createClient, graphqlRequest, type HttpRequest, type TimedResponse } from './client.ts'
import type { FeedHistory, LedgerRowResponse, PointResponse, SeenStates, VaultResponse } from './feed-history.ts'

const pauseMilliseconds = 10

/** Results of all readers. */
export interface LoadResult {
  /** Numbers of responses: 200, 503, and 404 for a vault that does not exist yet. */
  readonly responses: Record<'valid' | 'unavailable' | 'notFound', number>
  readonly violations: string[]
  slowestMilliseconds: number
}

/** Readers that send random requests to a gateway, and compare its responses with a feed. */
export interface Readers {
  readonly result: LoadResult
  stop(): Promise<void>
}

/** A request, with the check of its response. */
interface CheckedRequest {
  readonly request: HttpRequest
  /** Returns the errors of a body with status 200. */
  readonly violations: (body: never, seen: SeenStates) => string[]
  /** Whether the vault may not exist yet, so that 404 is correct. */
  readonly mayBeMissing?: boolean
}

/**
 * Starts readers.
 * @param count number of readers, each with a connection
 * @param allow503 whether a 503 with Retry-After is correct
 */
export function startReaders(port: number, history: FeedHistory, count: number, allow503: boolean): Readers {
  const client = createClient(port, count)
  const result: LoadResult = {
    responses: { valid: 0, unavailable: 0, notFound: 0 },
    violations: [],
    slowestMilliseconds: 0,
  }
  let isStopped = false
  const reader = async (): Promise<void> => {
    // Cached responses expire shortly after a commit: only responses to one kind of request are in order.
    const makers = requestMakers.map((makeRequest) => ({ makeRequest, seen: new Map() as SeenStates }))
    while (!isStopped) {
      const { makeRequest, seen } = pickRandom(makers)
      result.violations.push(
        ...(await sendAndCheck(client, makeRequest(pickRandom(history.vaults), history), seen, result, allow503)),
      )
      await wait(pauseMilliseconds)
    }
  }
  const running = Promise.all(Array.from({ length: count }, reader))
  return {
    result,
    async stop() {
      isStopped = true
      await running
      client.close()
    },
  }
}

/** Sends a request, counts the response, and returns its errors. */
async function sendAndCheck(
  client: Client,
  checked: CheckedRequest,
  seen: SeenStates,
  result: LoadResult,
  allow503: boolean,
): Promise<string[]> {
  const { request, mayBeMissing } = checked
  try {
    const response = await client.send(request)
    result.slowestMilliseconds = Math.max(result.slowestMilliseconds, response.milliseconds)
    const { status, body } = response
    if (status === 200) {
      result.responses.valid++
      return checked.violations(JSON.parse(body) as never, seen)
    }
    if (allow503 && isUnavailable(response)) result.responses.unavailable++
    else if (status === 404 && mayBeMissing === true) result.responses.notFound++
    else return [`${request.target}: status ${status} ${body.slice(0, 300)}`]
    return []
  } catch (error) {
    return [`${request.target}: no response: ${(error as Error).message}`]
  }
}

/** Tells whether a response is a 503 with Retry-After and a problem or a GraphQL error. */
function isUnavailable({ status, headers, body }: TimedResponse): boolean {
  if (status !== 503 || !/^\d+$/.test(String(headers['retry-after']))) return false
  const content = JSON.parse(body) as { status?: number; errors?: { extensions?: { code?: string } }[] }
  return content.status === 503 || typeof content.errors?.[0]?.extensions?.code === 'string'
}

const get = (target: string): HttpRequest => ({ method: 'GET', target })

const pointFields = 'ts valueUsd capitalInUsd capitalOutUsd'
const rowFields = 'txHash logIndex block ts type amountUsd'
const vaultFields = `address valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd updatedAt status
  strategy { name pairs { a b venues } } positions { id inRange range { lower current upper } }
  equity(points: 20) { ${pointFields} } events(first: 5) { nodes { ${rowFields} } }`

/** A vault in a GraphQL response, with points and ledger rows. */
interface NestedVault extends VaultResponse {
  readonly address: string
  readonly equity: readonly PointResponse[]
  readonly events: { readonly nodes: readonly LedgerRowResponse[] }
}

const requestMakers: readonly ((vault: string, history: FeedHistory) => CheckedRequest)[] = [
  (vault, history) => ({
    request: get(`/vault/${vault}/snapshot`),
    mayBeMissing: true,
    violations: (content: VaultResponse, seen) => history.vaultViolations(vault, content, seen),
  }),
  (vault, history) => ({
    request: get(`/vault/${vault}/equity?points=${pickRandom([2, 50, 2_000])}`),
    mayBeMissing: true,
    violations: (content: PointResponse[]) => history.pointViolations(vault, content),
  }),
  (vault, history) => ({
    request: get(`/vault/${vault}/events?limit=${pickRandom([1, 20, 1_000])}`),
    mayBeMissing: true,
    violations: (content: LedgerRowResponse[]) => history.rowViolations(vault, content),
  }),
  () => ({ request: get(pickRandom(['/strategies', '/universe', '/universe/pairs'])), violations: listViolations }),
  (vault, history) => ({
    request: graphqlRequest(`{ vault(address: "${vault}") { ${vaultFields} } }`),
    violations: ({ data: { vault: content } }: { data: { vault: NestedVault | null } }, seen) =>
      content === null ? [] : nestedVaultViolations(history, content, seen),
  }),
  (_, history) => ({
    request: graphqlRequest(
      `{ vaults(first: 20, orderBy: { field: UPDATED_AT }) { totalCount nodes { ${vaultFields} } } }`,
    ),
    violations: ({ data: { vaults } }: { data: { vaults: { totalCount: number; nodes: NestedVault[] } } }, seen) => [
      ...vaults.nodes.flatMap((content) => nestedVaultViolations(history, content, seen)),
      ...(vaults.totalCount > history.vaults.length ? [`totalCount is ${vaults.totalCount}`] : []),
    ],
  }),
]

/** Returns the errors of a vault with its points and ledger rows. */
function nestedVaultViolations(history: FeedHistory, content: NestedVault, seen: SeenStates): string[] {
  return [
    ...history.vaultViolations(content.address, content, seen),
    ...history.pointViolations(content.address, content.equity),
    ...history.rowViolations(content.address, content.events.nodes),
  ]
}

function listViolations(list: unknown[]): string[] {
  return list.length > 0 ? [] : ['a list of the catalogue is empty']
}

/** Returns a random item of a list that is not empty. */
export function pickRandom<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item
}
