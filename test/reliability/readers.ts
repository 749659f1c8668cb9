import { setTimeout as wait } from 'node:timers/promises'
import { type Answered, type Asked, type Client, clientOf } from './client.ts'
import type { History, Seen, ToldPoint, ToldRow, ToldVault } from './history.ts'

const pauseMilliseconds = 10

/** Result of a mixed load. */
export interface Load {
  readonly answers: Record<'right' | 'away' | 'not there yet', number>
  readonly flaws: string[]
  slowestMilliseconds: number
}

/** Readers that ask a gateway, each in turn, and hold its answers to what the feed says. */
export interface Readers {
  readonly load: Load
  stop(): Promise<void>
}

interface Question {
  readonly asked: Asked
  /** Errors in the body of a 200. */
  readonly flaws: (body: never, seen: Seen) => string[]
  /** Whether it may be of a vault that isn't known yet. */
  readonly mayBeMissing?: boolean
}

/** @param mayBeAway whether a 503 that says when to come again is a right answer */
export function startReaders(port: number, history: History, count: number, mayBeAway: boolean): Readers {
  const client = clientOf(port, count)
  const load: Load = { answers: { right: 0, away: 0, 'not there yet': 0 }, flaws: [], slowestMilliseconds: 0 }
  let isOver = false
  const reader = async (): Promise<void> => {
    // Kept answers are dropped a moment after the commit: only those to the same question come in order.
    const kinds = questions.map((ask) => ({ ask, seen: new Map() as Seen }))
    while (!isOver) {
      const { ask, seen } = oneOf(kinds)
      load.flaws.push(...(await flawsOfAnswer(client, ask(oneOf(history.vaults), history), seen, load, mayBeAway)))
      await wait(pauseMilliseconds)
    }
  }
  const running = Promise.all(Array.from({ length: count }, reader))
  return {
    load,
    async stop() {
      isOver = true
      await running
      client.close()
    },
  }
}

async function flawsOfAnswer(
  client: Client,
  question: Question,
  seen: Seen,
  load: Load,
  mayBeAway: boolean,
): Promise<string[]> {
  const { asked, mayBeMissing } = question
  try {
    const answered = await client.ask(asked)
    load.slowestMilliseconds = Math.max(load.slowestMilliseconds, answered.milliseconds)
    const { status, body } = answered
    if (status === 200) {
      load.answers.right++
      return question.flaws(JSON.parse(body) as never, seen)
    }
    if (mayBeAway && isAway(answered)) load.answers.away++
    else if (status === 404 && mayBeMissing === true) load.answers['not there yet']++
    else return [`${asked.target} was answered ${status} ${body.slice(0, 300)}`]
    return []
  } catch (error) {
    return [`${asked.target} was not answered: ${(error as Error).message}`]
  }
}

/** Whether it is a problem, or a GraphQL error, that says when to come again. */
function isAway({ status, headers, body }: Answered): boolean {
  if (status !== 503 || !/^\d+$/.test(String(headers['retry-after']))) return false
  const told = JSON.parse(body) as { status?: number; errors?: { extensions?: { code?: string } }[] }
  return told.status === 503 || typeof told.errors?.[0]?.extensions?.code === 'string'
}

const get = (target: string): Asked => ({ method: 'GET', target })

const point = 'ts valueUsd capitalInUsd capitalOutUsd'
const row = 'txHash logIndex block ts type amountUsd'
const vaultFields = `address valueUsd capitalInUsd capitalOutUsd netUsd strategyDeltaUsd marketDeltaUsd updatedAt status
  strategy { name pairs { a b venues } } positions { id inRange range { lower current upper } }
  equity(points: 20) { ${point} } events(first: 5) { nodes { ${row} } }`

interface NestedVault extends ToldVault {
  readonly address: string
  readonly equity: readonly ToldPoint[]
  readonly events: { readonly nodes: readonly ToldRow[] }
}

const questions: readonly ((vault: string, history: History) => Question)[] = [
  (vault, history) => ({
    asked: get(`/vault/${vault}/snapshot`),
    mayBeMissing: true,
    flaws: (told: ToldVault, seen) => history.flawsOfVault(vault, told, seen),
  }),
  (vault, history) => ({
    asked: get(`/vault/${vault}/equity?points=${oneOf([2, 50, 2_000])}`),
    mayBeMissing: true,
    flaws: (told: ToldPoint[]) => history.flawsOfPoints(vault, told),
  }),
  (vault, history) => ({
    asked: get(`/vault/${vault}/events?limit=${oneOf([1, 20, 1_000])}`),
    mayBeMissing: true,
    flaws: (told: ToldRow[]) => history.flawsOfRows(vault, told),
  }),
  () => ({ asked: get(oneOf(['/strategies', '/universe', '/universe/pairs'])), flaws: flawsOfList }),
  (vault, history) => ({
    asked: graphql(`{ vault(address: "${vault}") { ${vaultFields} } }`),
    flaws: ({ data: { vault: told } }: { data: { vault: NestedVault | null } }, seen) =>
      told === null ? [] : flawsOfNested(history, told, seen),
  }),
  (_, history) => ({
    asked: graphql(`{ vaults(first: 20, orderBy: { field: UPDATED_AT }) { totalCount nodes { ${vaultFields} } } }`),
    flaws: ({ data: { vaults } }: { data: { vaults: { totalCount: number; nodes: NestedVault[] } } }, seen) => [
      ...vaults.nodes.flatMap((told) => flawsOfNested(history, told, seen)),
      ...(vaults.totalCount > history.vaults.length ? [`there are ${vaults.totalCount} vaults`] : []),
    ],
  }),
]

function flawsOfNested(history: History, told: NestedVault, seen: Seen): string[] {
  return [
    ...history.flawsOfVault(told.address, told, seen),
    ...history.flawsOfPoints(told.address, told.equity),
    ...history.flawsOfRows(told.address, told.events.nodes),
  ]
}

function flawsOfList(list: unknown[]): string[] {
  return list.length > 0 ? [] : ['a list of the catalogue is empty']
}

function graphql(query: string): Asked {
  const headers = { 'content-type': 'application/json', accept: 'application/graphql-response+json' }
  return { method: 'POST', target: '/graphql', headers, body: JSON.stringify({ query }) }
}

function oneOf<Item>(items: readonly Item[]): Item {
  return items[Math.floor(Math.random() * items.length)] as Item
}
