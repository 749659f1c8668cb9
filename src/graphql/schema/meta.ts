import { type FeedState, readFeedStates } from '../../database/read/feed.ts'
import { builder } from './builder.ts'
import type { DataState, SetAsideReport } from '../execution/context.ts'
import { shortNames } from '../feed-names.ts'
import { createWholeLoader } from '../execution/data-loaders.ts'

const loadFeeds = createWholeLoader((reader) => readFeedStates(reader))

interface ServedFeed extends FeedState {
  readonly isStopped: boolean
  readonly isWaiting: boolean
}

const Block = builder.objectRef<NonNullable<FeedState['block']>>('Block').implement({
  description: 'A block of a chain.',
  fields: (t) => ({
    number: t.expose('number', { type: 'BlockNumber', description: 'Its number.' }),
    hash: t.exposeString('hash', { description: 'Its hash.' }),
    timestamp: t.expose('timestamp', { type: 'UnixTime', description: 'Its time, in Unix seconds.' }),
  }),
})

const Feed = builder.objectRef<ServedFeed>('Feed').implement({
  description: 'Where facts come from, and how far it has been read.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The end of its name, as short as tells it from the others.' }),
    line: t.exposeFloat('line', { description: 'Lines that have been applied.' }),
    newestFactAt: t.expose('newestFactAt', {
      type: 'UnixTime',
      nullable: true,
      description: 'Time of the newest fact that it brought, in Unix seconds.',
    }),
    readUntil: t.expose('readUntil', {
      type: 'UnixTime',
      nullable: true,
      description:
        'Up to when its source is known to hold no more than was applied, in Unix seconds: of a followed file, when its end was last seen; of a chain, the time of the newest block that was read. Null until it was read to its end.',
    }),
    block: t.expose('block', {
      type: Block,
      nullable: true,
      description: 'The newest block that was read; null where it reads no chain.',
    }),
    isStopped: t.exposeBoolean('isStopped', {
      description: 'Whether the gateway that answers has stopped reading it, for a bad fact or an error.',
    }),
    isWaiting: t.exposeBoolean('isWaiting', {
      description:
        'Whether the gateway that answers cannot read on now, and waits for the database, for room on a disk, for the file, or for nodes of its chain.',
    }),
  }),
})

const SetAsideVaultType = builder.objectRef<SetAsideReport>('SetAsideVault').implement({
  description: 'A configured vault of a chain that cannot be read on. The others are read all the same.',
  fields: (t) => ({
    address: t.expose('address', { type: 'Address', description: 'Its address.' }),
    reason: t.exposeString('reason', {
      description: 'Why it cannot be read: it does not fit its standard, or lacks a price.',
    }),
    block: t.expose('block', { type: 'BlockNumber', description: 'The first block whose facts of it are missing.' }),
  }),
})

/** Adds the feeds that have a problem, but no position because none of their lines has been applied. */
function withUnread(read: readonly FeedState[], names: readonly string[]): FeedState[] {
  const unread = [...new Set(names)].filter((name) => read.every((feed) => feed.name !== name))
  const nothing = { line: 0, newestFactAt: null, readUntil: null, block: null }
  const feeds = [...read, ...unread.map((name) => ({ name, ...nothing }))]
  return feeds.sort((one, other) => (one.name < other.name ? -1 : 1))
}

export const Meta = builder.objectRef<DataState>('Meta').implement({
  description: 'How new the data is that the answer is made of.',
  fields: (t) => ({
    version: t.exposeString('version', {
      nullable: true,
      description:
        'A version that nothing in the answer is older than, as in the header Data-Version; null before the first fact, and while the gateway receives no commits.',
    }),
    newestFactAt: t.expose('newestTs', {
      type: 'UnixTime',
      nullable: true,
      description: 'Time of the newest fact at that version, in Unix seconds.',
    }),
    ageSeconds: t.exposeInt('ageSeconds', {
      nullable: true,
      description: 'Whole seconds since the gateway last knew that it had received every commit.',
    }),
    setAside: t.field({
      type: [SetAsideVaultType],
      description:
        'Vaults that the gateway that answers has set aside: it reads no facts of theirs until they are mended.',
      resolve: (_, __, context) => [...context.feeds().setAside],
    }),
    feeds: t.field({
      type: [Feed],
      description:
        'All feeds that facts have come from, and those that have stopped or wait before their first fact, by name.',
      resolve: async (_, __, context) => {
        const { stopped, waiting } = context.feeds()
        const feeds = withUnread(await loadFeeds(context, null), [...stopped, ...waiting])
        const names = shortNames(feeds.map(({ name }) => name))
        return feeds.map((feed, index) => ({
          ...feed,
          name: names[index] ?? feed.name,
          isStopped: stopped.includes(feed.name),
          isWaiting: waiting.includes(feed.name),
        }))
      },
    }),
  }),
})

builder.queryField('_meta', (t) =>
  t.field({
    type: Meta,
    description: 'How new the data is that the answer is made of.',
    resolve: (_, __, context) => {
      context.origin.isCacheable = false
      return context.stateAtStart
    },
  }),
)
