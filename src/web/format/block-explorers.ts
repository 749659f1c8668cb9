/** Public block explorers, by the chain's id (EIP-155). */
const blockExplorers: Readonly<Record<number, string>> = {
  1: 'https://etherscan.io',
  10: 'https://optimistic.etherscan.io',
  56: 'https://bscscan.com',
  100: 'https://gnosisscan.io',
  130: 'https://uniscan.xyz',
  137: 'https://polygonscan.com',
  8453: 'https://basescan.org',
  42161: 'https://arbiscan.io',
  43114: 'https://snowtrace.io',
  59144: 'https://lineascan.build',
}

/** Returns the address of a transaction's page; null where the chain or its explorer is unknown. */
export function transactionLink(chainId: number | null, txHash: string): string | null {
  const explorer = chainId === null ? undefined : blockExplorers[chainId]
  return explorer === undefined ? null : `${explorer}/tx/${txHash}`
}
