import { connectChain } from '../../chain/setup.ts'
import { checkVaults, type VaultReport } from '../../chain/vaults/check-vaults.ts'
import { type ChainCommand, reportTo } from './chain.ts'

/**
 * Writes a report on each vault of a chain: how it is read, its figures at the newest block, and what is missing.
 * @returns whether every vault can be read
 * @throws {BadChainConfig} with every problem of the tokens and contracts
 */
export async function runChainCheck(command: Omit<ChainCommand, 'follow'>): Promise<boolean> {
  const { chain, output, log, signal, retry } = command
  const options = { ...chain, report: reportTo(log), signal, once: true, ...(retry && { retry }) }
  const reports = await checkVaults(await connectChain(options, false))
  output.write(reports.map(formatReport).join('\n'))
  return reports.every(({ missing }) => missing.length === 0)
}

function formatReport({ address, block, adapter, read, missing }: VaultReport): string {
  const lines = [
    ['adapter', adapter ?? 'none fits'],
    ...read,
    ...(missing.length === 0 ? [['missing', 'nothing']] : missing.map((reason) => ['missing', reason])),
  ]
  const rows = lines.map(([name = '', value = '']) => `  ${name.padEnd(16)}${value}\n`)
  return `${address} at block ${block}\n${rows.join('')}`
}
