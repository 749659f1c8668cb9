import { setTimeout as wait } from 'node:timers/promises'
import type { StreamAttacker } from './attacker.ts'

/** A kind of attack by streams. */
export interface StreamAttack {
  readonly name: string
  /** Run by each attacker repeatedly until the attack ends. */
  readonly run: (attacker: StreamAttacker) => Promise<void>
}

/** One more stream than an address may have. */
const streamsOfAddress = 21

/** Opens streams over REST, and keeps them open. */
const hold = (path: (attacker: StreamAttacker, at: number) => string, isReading = true): StreamAttack['run'] => {
  return async (attacker) => {
    for (let at = 0; at < streamsOfAddress; at++) attacker.get(path(attacker, at), { isReading })
    await attacker.ended
  }
}

/** Opens GraphQL subscriptions, and keeps them open. */
const subscribe = (query: (attacker: StreamAttacker, at: number) => string, isReading = true): StreamAttack['run'] => {
  return async (attacker) => {
    for (let at = 0; at < streamsOfAddress; at++) attacker.post(query(attacker, at), { isReading })
    await attacker.ended
  }
}

const listOf = ({ vaults }: StreamAttacker, at: number): string =>
  Array.from({ length: 100 }, (_, index) => vaults[(index + at) % vaults.length]).join()

let count = 0
/** Returns a unique name, so that no cache contains the document. */
const unique = (): string => `a${++count}`

/** Returns a subscription with the maximum cost. */
const expensiveSubscription = ({ vaults }: StreamAttacker, at: number): string =>
  `subscription ${unique()} { vault(address: "${vaults[at % vaults.length] ?? ''}") { equity(points: 300) { ts valueUsd netUsd } events(first: 50) { nodes { txHash type } } } }`

/** Returns a subscription to ledger rows with all fields of a row and some of its vault. */
const rowSubscription = (after: string): string =>
  `subscription ${unique()} { ledger(after: "${after}") { cursor event { txHash logIndex block ts type amountUsd positionId reason } vault { address owner status valueUsd netUsd strategy { name } } } }`

/** Returns a unique subscription with the maximum cost, whose events have 50 KB. */
const largeRowSubscription = (after: string): string =>
  `subscription ${unique()} { ledger(after: "${after}") { cursor vault { equity(points: 340) { ts valueUsd capitalInUsd capitalOutUsd netUsd changeUsd strategyDeltaUsd marketDeltaUsd } } } }`

/** More than node:http buffers of a body that is not read. */
const bodyBytes = 200_000

/** All attacks, in the order in which they run. */
export const streamAttacks: readonly StreamAttack[] = [
  { name: 'streams of one vault', run: hold(({ vaults }) => `/live/vaults?vault=${vaults[0] ?? ''}`) },
  { name: 'streams of 100 vaults', run: hold((attacker, at) => `/live/vaults?vault=${listOf(attacker, at)}`) },
  {
    name: 'streams of 100 vaults, unread',
    run: hold((attacker, at) => `/live/vaults?vault=${listOf(attacker, at)}`, false),
  },
  {
    name: 'unknown vaults',
    run: async (attacker) => {
      const unknown = Array.from({ length: 100 }, () => `0x${String(++count).padStart(40, '7')}`)
      await attacker.get(`/live/vaults?vault=${unknown.join()}`, { isReading: true }).ended
    },
  },
  {
    name: 'streams abandoned at once',
    run: async (attacker) => {
      const stream = attacker.get(`/live/vaults?vault=${listOf(attacker, ++count)}`, { isReading: true })
      await Promise.race([stream.sent.then(() => wait(2)), attacker.ended])
      stream.cut()
    },
  },
  { name: 'expensive subscriptions', run: subscribe(expensiveSubscription) },
  { name: 'expensive subscriptions, unread', run: subscribe(expensiveSubscription, false) },
  {
    name: 'expensive subscriptions, abandoned at once',
    run: async (attacker) => {
      const stream = attacker.post(expensiveSubscription(attacker, ++count), { isReading: true })
      await Promise.race([stream.sent.then(() => wait(2)), attacker.ended])
      stream.cut()
    },
  },
  {
    name: 'subscriptions that are too deep',
    run: async (attacker) => {
      const deep = 'vault { strategy { vaults { nodes { '.repeat(8)
      await attacker.post(`subscription ${unique()} { ledger { ${deep} id ${' }'.repeat(32)} } }`, { isReading: true })
        .ended
    },
  },
  {
    name: 'rows since the first commit',
    run: async (attacker) => {
      const stream = attacker.get('/live/events', { isReading: true, lastEventId: attacker.oldest })
      await Promise.race([stream.ended, attacker.ended, wait(1_000)])
      stream.cut()
    },
  },
  {
    name: 'rows since the first commit, 21 streams',
    run: async (attacker) => {
      const streams = Array.from({ length: streamsOfAddress }, () =>
        attacker.get('/live/events', { isReading: true, lastEventId: attacker.oldest }),
      )
      await Promise.race([attacker.ended, wait(2_000)])
      for (const stream of streams) stream.cut()
    },
  },
  { name: 'subscriptions to rows since the first commit', run: subscribe(({ oldest }) => rowSubscription(oldest)) },
  {
    name: 'subscriptions to rows since the first commit, unread',
    run: subscribe(({ oldest }) => rowSubscription(oldest), false),
  },
  {
    name: 'subscriptions to large rows, all different',
    run: subscribe(({ oldest }) => largeRowSubscription(oldest)),
  },
  {
    name: 'streams with endless bodies',
    run: async (attacker) => {
      const path = `/live/vaults?vault=${attacker.vaults[0] ?? ''}`
      const body = 'x'.repeat(bodyBytes)
      const request = `GET ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${1_000 * bodyBytes}\r\n\r\n${body}`
      for (let at = 0; at < streamsOfAddress; at++) attacker.raw(request)
      await attacker.ended
    },
  },
  {
    name: 'unknown event ids',
    run: async (attacker) => {
      const stream = attacker.get('/live/events', { isReading: true, lastEventId: `${++count}.${count}` })
      await Promise.race([stream.received, attacker.ended])
      stream.cut()
    },
  },
  {
    name: 'reconnections',
    run: async (attacker) => {
      const streams = Array.from({ length: streamsOfAddress - 1 }, (_, at) =>
        attacker.get(`/live/vaults?vault=${attacker.vaults[at] ?? ''}`, { isReading: true }),
      )
      await Promise.race([Promise.all(streams.map(({ received }) => received)), attacker.ended])
      for (const stream of streams) stream.cut()
    },
  },
  {
    name: 'incomplete requests',
    run: async (attacker) => {
      for (let at = 0; at < streamsOfAddress; at++) attacker.raw('GET /live/events HTTP/1.1\r\nhost: x\r\naccept:')
      await attacker.ended
    },
  },
]
