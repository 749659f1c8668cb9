/** A fault of a node that lasts until the operator acts. */
export interface LastingFault {
  /** The problem as a predicate of the node ("refuses access"), safe to show to untrusted clients. */
  readonly problem: string
  /** An instruction to the operator. */
  readonly remedy: string
  /** Whether the response identifies the cause. An error of unknown cause counts as lasting only after a long time. */
  readonly isCertain: boolean
  /** Whether the fault affects every request to the node, and is logged as a warning even if other nodes answer. */
  readonly isOfNode: boolean
}

export const accessDenied: LastingFault = {
  problem: 'refuses access',
  remedy: 'Check the key in its url, and whether the plan of that key covers this chain',
  isCertain: true,
  isOfNode: true,
}
export const noEndpoint: LastingFault = {
  problem: 'has no JSON-RPC at its url',
  remedy: 'Check its url',
  isCertain: true,
  isOfNode: true,
}
export const noMethod: LastingFault = {
  problem: 'lacks a method that is needed',
  remedy: 'Name a node that serves eth_call, eth_getCode, eth_getLogs, eth_getBlockByNumber and eth_getBlockReceipts',
  isCertain: true,
  isOfNode: true,
}
export const noFinalizedTag: LastingFault = {
  problem: 'names no block as "finalized"',
  remedy: "Set the file's finality to a number of blocks, or name a node that serves this tag and is in sync",
  isCertain: true,
  isOfNode: true,
}
/** A node that is syncing has no such block for minutes. */
export const noFinalizedBlock: LastingFault = { ...noFinalizedTag, isCertain: false }
export const noCallsByHash: LastingFault = {
  problem: "takes no requests by a block's hash (EIP-1898)",
  remedy: 'Name a node that does; all current clients do',
  isCertain: true,
  isOfNode: true,
}
/** Nodes near the newest block may be on different forks for a short time. */
export const otherFork: LastingFault = {
  problem: 'is on another fork than the blocks that were read',
  remedy:
    'Find out which of the nodes follow the chain, and name only these; fill a new database where the others were read',
  isCertain: false,
  isOfNode: true,
}
export const noOldState: LastingFault = {
  problem: 'lacks the state of the blocks to read',
  remedy: "Name an archive node: a vault's history needs one",
  isCertain: true,
  isOfNode: false,
}
export const unexplained: LastingFault = {
  problem: 'answers with errors only',
  remedy: "Look for the error in its provider's documentation, or name another node",
  isCertain: false,
  isOfNode: false,
}
/** A rate limit is temporary, but an exhausted quota may last: it is reported after a long time, and retried. */
export const rateLimited: LastingFault = {
  problem: 'limits the rate of requests, or its quota is used up',
  remedy: "Lower its requestsPerSecond, or look at its provider's quota",
  isCertain: false,
  isOfNode: false,
}

export const statusFaults: Readonly<Record<number, LastingFault>> = {
  ...Object.fromEntries([301, 302, 303, 307, 308].map((status) => [status, noEndpoint])),
  401: accessDenied,
  402: accessDenied,
  403: accessDenied,
  404: noEndpoint,
  405: noEndpoint,
  410: noEndpoint,
}
