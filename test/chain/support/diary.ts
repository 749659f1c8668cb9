import { Decimal } from 'decimal.js'
import type { Address, TransactionReceipt } from 'viem'
import type { TestChain } from './anvil.ts'
import type { Known, observe } from './observer.ts'
import { logsOf, type Operator } from './operator.ts'
import type { Protocol, TestToken } from './protocol.ts'

/** A ledger row as in a REST response. */
export interface Row {
  readonly txHash: string
  readonly logIndex: number
  readonly block: number
  readonly ts: number
  readonly type: string
  readonly amountUsd: number | null
  readonly positionId: string | null
  readonly reason: string | null
}

type Details = Partial<Pick<Row, 'positionId' | 'reason'>> & {
  /** Token id that selects the log where several have the name. */
  readonly id?: bigint
  readonly amounts?: readonly (readonly [TestToken, bigint])[]
}

/**
 * Records the operations of a test on a vault, and the results that follow from calls of the contracts: the ledger, and
 * capital and equity at each block.
 */
export function keepDiary(chain: TestChain, protocol: Protocol, observer: ReturnType<typeof observe>, vault: Operator) {
  const rows: Row[] = []
  const known: { readonly from: number; readonly positions: readonly Known[] }[] = [{ from: 0, positions: [] }]
  const positionsAt = (block: number): readonly Known[] => known.findLast(({ from }) => from <= block)?.positions ?? []

  const values = new Map<number, Promise<Decimal>>()
  const valueAt = (block: number): Promise<Decimal> => {
    const value = values.get(block) ?? observer.valueAt(vault.address, positionsAt(block), block)
    values.set(block, value)
    return value
  }

  const add = async (receipt: TransactionReceipt, log: string, type: string, details: Details = {}): Promise<Row> => {
    const { id, amounts, positionId = id?.toString() ?? null, reason = null } = details
    const decoded = logsOf(receipt, vault.address, protocol.manager).find(
      ({ name, args }) => name === log && (id === undefined || args['tokenId'] === id),
    )
    if (decoded === undefined) throw new Error(`There is no ${log} in ${receipt.transactionHash}`)
    const block = Number(receipt.blockNumber)
    const prices = await observer.pricesAt(block)
    const row: Row = {
      txHash: receipt.transactionHash,
      logIndex: decoded.logIndex,
      block,
      ts: Number((await chain.client.getBlock({ blockNumber: receipt.blockNumber })).timestamp),
      type,
      amountUsd: amounts === undefined ? null : observer.worth(prices, amounts).toNumber(),
      positionId,
      reason,
    }
    rows.push(row)
    return row
  }

  const flow = (log: 'Deposit' | 'Withdraw', type: string) => (receipt: TransactionReceipt) => {
    const decoded = logsOf(receipt, vault.address, protocol.manager).find(({ name }) => name === log)
    return add(receipt, log, type, { amounts: [[vault.asset, decoded?.args['assets'] as bigint]] })
  }

  return {
    rows,
    add,
    deposited: flow('Deposit', 'deposit'),
    withdrawn: flow('Withdraw', 'withdraw'),
    /** Sets the positions of the vault from this block on. */
    holds: (block: bigint, ...positions: Known[]) => void known.push({ from: Number(block), positions }),
    positionsAt,
    valueAt,
    /** Returns the capital in and out up to a block, and the market's part of the gain: that of the deposits, simply held. */
    async capitalAt(block: number) {
      let capitalIn = new Decimal(0)
      let capitalOut = new Decimal(0)
      let paidOut = new Decimal(0)
      let held = new Decimal(0)
      for (const row of rows.filter((each) => each.block <= block && ['deposit', 'withdraw'].includes(each.type))) {
        const amount = new Decimal(row.amountUsd ?? 0)
        const price = (await observer.pricesAt(row.block))[vault.asset.symbol] as Decimal
        if (row.type === 'deposit') {
          capitalIn = capitalIn.plus(amount)
          held = held.plus(await depositedUnits(row))
          continue
        }
        const before = await valueAt(row.block - 1)
        paidOut = paidOut.plus(held.times(price).times(amount).div(before))
        held = held.times(before.minus(amount)).div(before)
        capitalOut = capitalOut.plus(amount)
      }
      const price = (await observer.pricesAt(block))[vault.asset.symbol] as Decimal
      return { capitalIn, capitalOut, market: held.times(price).plus(paidOut).minus(capitalIn).toDecimalPlaces(6) }
    },
  }

  async function depositedUnits({ txHash, logIndex }: Row): Promise<Decimal> {
    const receipt = await chain.receiptOf(txHash as Address)
    const decoded = logsOf(receipt, vault.address, protocol.manager).find((log) => log.logIndex === logIndex)
    return new Decimal(String(decoded?.args['assets'])).div(new Decimal(10).pow(vault.asset.decimals))
  }
}
