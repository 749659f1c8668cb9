/** Intervals and timeouts of the comparison of replicas with the primary. */
export const replicaTiming = {
  pollMilliseconds: 500, // Interval of polls: a small part of the cost of responses, and less than a second of age.
  searchMilliseconds: 50, // Interval of polls while no server is read from: each must be polled twice.
  askMilliseconds: 300, // Timeout of the polls of a round; a later answer counts in the next round.
  reconnectMilliseconds: 1_000, // Least time between two new connections to the primary that a contradiction causes.
  returnMilliseconds: 5_000, // Interval of searches for a standby while the primary is read from.
  laggingSeconds: 10, // Age at which another replica is searched for, or half of STALE_SECONDS where that is less.
  waitMilliseconds: 2_000, // Maximum wait of a read for another server after the loss of its server.
  drainSeconds: 15, // Time for running reads on a lagging replica to end: longer than a response takes.
} as const
