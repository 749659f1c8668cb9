/** How often replicas are compared with the primary, and how long they are waited for. */
export const replicaTiming = {
  pollMilliseconds: 500, // How often: a small share of what each answer costs, and less than a second of age.
  searchMilliseconds: 50, // How often while none is read from: each has to be asked twice.
  askMilliseconds: 300, // How long the answers of all are waited for; a later one counts in the next round.
  returnMilliseconds: 5_000, // How often a standby is looked for while the primary itself is read from.
  laggingSeconds: 10, // Age at which another one is looked for, or half of STALE_SECONDS where that is less.
  waitMilliseconds: 2_000, // How long a read waits for another one after the loss of its own.
  drainSeconds: 15, // How long reads that run on one that lags may take to end: longer than an answer.
} as const
