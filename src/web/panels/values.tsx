import type { ComponentChildren } from 'preact'
import type { VaultStatus } from '../documents.generated.ts'
import { formatFraction, formatUsd, type UsdFormat, words } from '../format/figures.ts'
import { formatAgo, formatTime, isoTime } from '../format/times.ts'
import { useNowSeconds } from '../data/hooks.ts'

/** An amount in USD; the element's value has the digits that the server sent. */
export function Usd({ amount, ...format }: UsdFormat & { readonly amount: string }) {
  const tone = format.isGain !== true || Number(amount) === 0 ? undefined : amount.startsWith('-') ? 'loss' : 'gain'
  return (
    <data value={amount} class={tone} title={format.isRounded === true ? `${amount} USD` : undefined}>
      <FaintFraction text={formatUsd(amount, format)} />
    </data>
  )
}

/** An amount whose digits after the cents are smaller. */
function FaintFraction({ text }: { readonly text: string }) {
  const [, whole, fraction, rest] = /^(.*[.,]\d\d)(\d+)(\D*)$/.exec(text) ?? []
  if (fraction === undefined) return <>{text}</>
  return (
    <>
      {whole}
      <span class="fraction">{fraction}</span>
      {rest}
    </>
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

/** A named figure, in a list of figures. */
export function Figure({
  name,
  class: kind,
  children,
}: {
  readonly name: string
  readonly class?: string
  readonly children: ComponentChildren
}) {
  return (
    <div class={kind}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Returns the start and end of an address; an incomplete address of a truncated link is returned whole. */
export function shortAddress(address: string): string {
  return address.length < 20 ? address : `${address.slice(0, 8)}…${address.slice(-6)}`
}
