import { Decimal } from '../../../domain/decimal.ts'

/** Maximum micro-dollars that a float holds exactly: the product with a million errs by less than a tenth of one. */
const exactMicros = 1e14

/** The parsed capital of the last point: most points have the same as the previous point. */
const lastIn = { text: '0', micros: 0 }
const lastOut = { text: '0', micros: 0 }

function remember(last: typeof lastIn, text: string): number {
  last.text = text
  last.micros = Number(text) * 1e6
  return last.micros
}

/**
 * Returns the value of a vault, net of flows plus capital in minus capital out, as exact text without trailing zeros. Most
 * amounts fit into integers of a float, which are many times as fast as decimals.
 * @param netNumber net of flows as the float that is nearest to its text
 */
export function valueUsdOf(netUsd: string, netNumber: number, capitalInUsd: string, capitalOutUsd: string): string {
  const net = netNumber * 1e6
  const capitalIn = capitalInUsd === lastIn.text ? lastIn.micros : remember(lastIn, capitalInUsd)
  const capitalOut = capitalOutUsd === lastOut.text ? lastOut.micros : remember(lastOut, capitalOutUsd)
  const micros = Math.round(net) + Math.round(capitalIn) - Math.round(capitalOut)
  if (micros < 0 || Math.abs(net) > exactMicros || capitalIn > exactMicros || capitalOut > exactMicros) {
    return new Decimal(netUsd).plus(capitalInUsd).minus(capitalOutUsd).toFixed()
  }
  const whole = Math.floor(micros / 1e6)
  const rest = micros - whole * 1e6
  if (rest === 0) return String(whole)
  let end = 7
  const digits = String(1e6 + rest)
  while (digits.charCodeAt(end - 1) === 48) end--
  return `${whole}.${digits.slice(1, end)}`
}
