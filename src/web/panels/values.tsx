import type { VaultStatus } from '../documents.generated.ts'
import { formatFraction, formatUsd, type UsdFormat, words } from '../format/figures.ts'
import { formatAgo, formatTime, isoTime } from '../format/times.ts'
import { useNowSeconds } from '../data/hooks.ts'

/** An amount in USD, whose digits stand in the element's value as the server has sent them. */
export function Usd({ amount, ...format }: UsdFormat & { readonly amount: string }) {
  const tone = format.isGain !== true || Number(amount) === 0 ? undefined : amount.startsWith('-') ? 'loss' : 'gain'
  return (
    <data value={amount} class={tone} title={format.isRounded === true ? `${amount} USD` : undefined}>
      {formatUsd(amount, format)}
    </data>
  )
}

/** A realised figure of a strategy. */
export function Fraction({ value }: { readonly value: number | null }) {
  if (value === null) return <span class="faint">not enough history yet</span>
  return <data value={String(value)}>{formatFraction(value)}</data>
}

export function StatusBadge({ status }: { readonly status: VaultStatus }) {
  return <span class={`badge ${status.toLowerCase()}`}>{words(status)}</span>
}

/** A time, and how long ago it was. */
export function TimeAgo({ seconds }: { readonly seconds: number }) {
  const now = useNowSeconds(10_000)
  return (
    <time dateTime={isoTime(seconds)} title={formatTime(seconds)}>
      {formatAgo(Math.max(0, now - seconds))}
    </time>
  )
}

export function Time({ seconds }: { readonly seconds: number }) {
  return <time dateTime={isoTime(seconds)}>{formatTime(seconds)}</time>
}

/** An address in full, or its beginning and end. */
export function shortAddress(address: string): string {
  return `${address.slice(0, 8)}…${address.slice(-6)}`
}
