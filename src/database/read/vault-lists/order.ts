import { Decimal } from '../../../domain/decimal.ts'
import { bytesOf } from '../expressions.ts'

/** Direction of an order. */
export type Direction = 'ASC' | 'DESC'

interface OrderKey {
  readonly column: string
  readonly type: 'numeric' | 'bigint' | 'text'
  /** Values that come before all others, ascending and descending. */
  readonly before: Readonly<Record<Direction, string>>
}

const amounts = { type: 'numeric', before: { ASC: '-Infinity', DESC: 'Infinity' } } as const

/** Sort orders of vault lists; the address is the tie-breaker. */
export const vaultOrders = {
  VALUE_USD: { column: 'value_usd', ...amounts },
  NET_USD: { column: 'net_usd', ...amounts },
  STRATEGY_DELTA_USD: { column: 'strategy_delta_usd', ...amounts },
  CAPITAL_IN_USD: { column: 'capital_in_usd', ...amounts },
  UPDATED_AT: { column: 'updated_at', type: 'bigint', before: { ASC: '-1', DESC: String(2n ** 63n - 1n) } },
  ADDRESS: { column: 'address', type: 'text', before: { ASC: '', DESC: '' } },
} as const satisfies Record<string, OrderKey>
export type VaultOrderName = keyof typeof vaultOrders

/** Position before a page: the vault with this address, whose sort column had this value. */
export interface VaultCursor {
  readonly value: string
  readonly address: string
}

/** SQL of an order in one direction. */
export interface OrderSql {
  readonly column: (typeof vaultOrders)[VaultOrderName]['column']
  /** ORDER BY clause for the columns of a vault and its `address_bytes`. */
  readonly orderBy: string
  /** Expression for `address_bytes`: neither case nor the database's collation matters. The indexes contain the same. */
  readonly addressBytes: string
  /** ORDER BY clause on the table, in the form of the indexes. */
  readonly orderByIndex: string
  /** Condition of the vaults after the cursor, which a prefix of equalities can precede in an index. */
  readonly afterCursor: string
}

/**
 * Returns the SQL of an order.
 * @param cursor row with the cursor's `value` and `address_bytes`
 */
export function orderSql(order: VaultOrderName, direction: Direction, cursor: string): OrderSql {
  const { column } = vaultOrders[order]
  const addressBytes = bytesOf('vault.address')
  const beyond = direction === 'ASC' ? '>' : '<'
  const isByAddress = order === 'ADDRESS'
  return {
    column,
    addressBytes,
    orderBy: isByAddress ? `address_bytes ${direction}` : `${column} ${direction}, address_bytes ${direction}`,
    orderByIndex: isByAddress
      ? `${addressBytes} ${direction}`
      : `vault.${column} ${direction}, ${addressBytes} ${direction}`,
    afterCursor: isByAddress
      ? `${addressBytes} ${beyond} ${cursor}.address_bytes`
      : `(vault.${column}, ${addressBytes}) ${beyond} (${cursor}.value, ${cursor}.address_bytes)`,
  }
}

/** Returns the SQL that selects the value and the bytes of the address of a cursor. */
export function cursorSql(order: VaultOrderName, value: string, address: string): string {
  return `${value}::${vaultOrders[order].type} as value, ${bytesOf(`${address}::text`)} as address_bytes`
}

/** Returns the cursor that comes before all vaults. */
export function beforeAll(order: VaultOrderName, direction: Direction): VaultCursor {
  return { value: vaultOrders[order].before[direction], address: direction === 'ASC' ? '0x' : `0x${'ff'.repeat(21)}` }
}

/** Returns the later of two cursors in the order by an amount. */
export function laterCursor(one: VaultCursor, other: VaultCursor, direction: Direction): VaultCursor {
  const difference = new Decimal(one.value).comparedTo(other.value)
  return (direction === 'ASC' ? difference : -difference) >= 0 ? one : other
}
