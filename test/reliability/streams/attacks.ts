import { setTimeout as wait } from 'node:timers/promises'
import type { StreamAttacker } from './attacker.ts'

/** An attack by streams. */
export interface StreamAttack {
  readonly name: string
  /** Carried out by each attacker again and again until the time is over. */
  readonly carryOut: (attacker: StreamAttacker) => Promise<void>
  /** Whether the gateway may refuse honest clients meanwhile: all places are taken. */
  readonly takesAll?: boolean
}

/** Streams of one address: one more than it may have. */
const streamsOfAddress = 21

const hold = (path: (attacker: StreamAttacker, at: number) => string, isReading = true): StreamAttack['carryOut'] => {
  return async (attacker) => {
    for (let at = 0; at < streamsOfAddress; at++) attacker.get(path(attacker, at), { isReading })
    await attacker.over
  }
}

const subscribe = (
  query: (attacker: StreamAttacker, at: number) => string,
  isReading = true,
): StreamAttack['carryOut'] => {
  return async (attacker) => {
    for (let at = 0; at < streamsOfAddress; at++) attacker.post(query(attacker, at), { isReading })
    await attacker.over
  }
}

const listOf = ({ vaults }: StreamAttacker, at: number): string =>
  Array.from({ length: 100 }, (_, index) => vaults[(index + at) % vaults.length]).join()

let count = 0
/** A name that no document has had. */
const unique = (): string => `a${++count}`

/** As much as one subscription may cost. */
const costly = ({ vaults }: StreamAttacker, at: number): string =>
  `subscription ${unique()} { vault(address: "${vaults[at % vaults.length] ?? ''}") { equity(points: 300) { ts valueUsd netUsd } events(first: 50) { nodes { txHash type } } } }`

const manyPerRow = (after: string): string =>
  `subscription ${unique()} { ledger(after: "${after}") { cursor event { txHash logIndex block ts type amountUsd positionId reason } vault { address owner status valueUsd netUsd strategy { name } } } }`

/** Frames of 50 KB, as large as one subscription may cost, in a document that no other stream has. */
const largeRows = (after: string): string =>
  `subscription ${unique()} { ledger(after: "${after}") { cursor vault { equity(points: 340) { ts valueUsd capitalInUsd capitalOutUsd netUsd changeUsd strategyDeltaUsd marketDeltaUsd } } } }`

/** More than Node keeps of a body that is not read. */
const bodyBytes = 200_000

export const streamAttacks: readonly StreamAttack[] = [
  { name: 'streams of one vault', carryOut: hold(({ vaults }) => `/live/vaults?vault=${vaults[0] ?? ''}`) },
  { name: 'streams of 100 vaults', carryOut: hold((attacker, at) => `/live/vaults?vault=${listOf(attacker, at)}`) },
  {
    name: 'streams of 100 vaults, unread',
    carryOut: hold((attacker, at) => `/live/vaults?vault=${listOf(attacker, at)}`, false),
  },
  {
    name: 'unknown vaults',
    carryOut: async (attacker) => {
      const unknown = Array.from({ length: 100 }, () => `0x${String(++count).padStart(40, '7')}`)
      await attacker.get(`/live/vaults?vault=${unknown.join()}`, { isReading: true }).ended
    },
  },
  {
    name: 'opened and left at once',
    carryOut: async (attacker) => {
      const stream = attacker.get(`/live/vaults?vault=${listOf(attacker, ++count)}`, { isReading: true })
      await Promise.race([stream.sent.then(() => wait(2)), attacker.over])
      stream.cut()
    },
  },
  { name: 'costly subscriptions', carryOut: subscribe(costly) },
  { name: 'costly subscriptions, unread', carryOut: subscribe(costly, false) },
  {
    name: 'costly subscriptions, opened and left',
    carryOut: async (attacker) => {
      const stream = attacker.post(costly(attacker, ++count), { isReading: true })
      await Promise.race([stream.sent.then(() => wait(2)), attacker.over])
      stream.cut()
    },
  },
  {
    name: 'subscriptions that are too deep',
    carryOut: async (attacker) => {
      const deep = 'vault { strategy { vaults { nodes { '.repeat(8)
      await attacker.post(`subscription ${unique()} { ledger { ${deep} id ${' }'.repeat(32)} } }`, { isReading: true })
        .ended
    },
  },
  {
    name: 'rows from far back',
    carryOut: async (attacker) => {
      const stream = attacker.get('/live/events', { isReading: true, lastEventId: attacker.oldest })
      await Promise.race([stream.ended, attacker.over, wait(1_000)])
      stream.cut()
    },
  },
  {
    name: 'rows from far back, 21 streams',
    carryOut: async (attacker) => {
      const streams = Array.from({ length: streamsOfAddress }, () =>
        attacker.get('/live/events', { isReading: true, lastEventId: attacker.oldest }),
      )
      await Promise.race([attacker.over, wait(2_000)])
      for (const stream of streams) stream.cut()
    },
  },
  { name: 'subscriptions to rows from far back', carryOut: subscribe(({ oldest }) => manyPerRow(oldest)) },
  {
    name: 'subscriptions to rows from far back, unread',
    carryOut: subscribe(({ oldest }) => manyPerRow(oldest), false),
  },
  {
    name: 'subscriptions to rows with large frames, each of its own',
    carryOut: subscribe(({ oldest }) => largeRows(oldest)),
  },
  {
    name: 'streams with bodies that do not end',
    carryOut: async (attacker) => {
      const path = `/live/vaults?vault=${attacker.vaults[0] ?? ''}`
      const body = 'x'.repeat(bodyBytes)
      const request = `GET ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${1_000 * bodyBytes}\r\n\r\n${body}`
      for (let at = 0; at < streamsOfAddress; at++) attacker.raw(request)
      await attacker.over
    },
  },
  {
    name: 'ids of no history',
    carryOut: async (attacker) => {
      const stream = attacker.get('/live/events', { isReading: true, lastEventId: `${++count}.${count}` })
      await Promise.race([stream.received, attacker.over])
      stream.cut()
    },
  },
  {
    name: 'reconnections',
    carryOut: async (attacker) => {
      const streams = Array.from({ length: streamsOfAddress - 1 }, (_, at) =>
        attacker.get(`/live/vaults?vault=${attacker.vaults[at] ?? ''}`, { isReading: true }),
      )
      await Promise.race([Promise.all(streams.map(({ received }) => received)), attacker.over])
      for (const stream of streams) stream.cut()
    },
  },
  {
    name: 'half of a request',
    carryOut: async (attacker) => {
      for (let at = 0; at < streamsOfAddress; at++) attacker.raw('GET /live/events HTTP/1.1\r\nhost: x\r\naccept:')
      await attacker.over
    },
  },
]
