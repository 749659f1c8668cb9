/** Limits of streams of server-sent events (`http/live`). */
export const liveLimits = {
  connections: 10_000, // Open streams of a process besides its other connections: 10 KB of memory each.
  connectionsOfSender: 20, // Open streams of a key or address: the tabs of one person.
  vaults: 100, // Vaults of one stream: a page of them, each evaluated by itself.
  cost: 3_000, // Cost of a subscription, which runs again at each change: that of a cheap query.
  evaluations: 32, // Evaluations that run at once: a commit may change thousands of vaults.
  pushMilliseconds: 250, // Minimum time between two pushes of one state: four a second are a smooth display.
  unsentBytes: 65_536, // Bytes that a client has not read, beyond which nothing is written: one read of a socket.
  stallSeconds: 30, // Time to read them: a client that takes longer has gone, or should poll.
  heartbeatSeconds: 15, // Proxies close connections that are silent for 30 to 60 s.
  lifeSeconds: 3_600, // Then a client reconnects, so that load spreads over the gateways; plus or minus a tenth.
  retrySeconds: 4, // Mean time after which clients reconnect, at random: not all at once.
  characters: 8_192, // A subscription with its variables, which is kept as long as its stream.
  ledgerRows: 500, // Rows of the ledger in one read: about 150 KB.
  ledgerWindow: 2_000, // Newest commits and rows that are in memory: most streams read no others.
  slice: 500, // Sockets that are written in one event-loop iteration: 10 ms.
} as const
export type LiveLimits = Readonly<Record<keyof typeof liveLimits, number>>
