import { type GatewayState, useNowSeconds } from '../data/hooks.ts'
import { formatAgo } from '../format/times.ts'

/** Age of the data, in seconds, beyond which the database counts as unreachable. */
const staleSeconds = 10

/** Shows the age of the data, and whether the gateway or a feed is down. */
export function StatusLine({ state }: { readonly state: GatewayState | null }) {
  const now = useNowSeconds()
  const problems = state === null ? [] : problemsOf(state)
  const newest = state?.meta?.newestFactAt ?? null
  return (
    <>
      <p class={`age ${problems.length > 0 ? 'stale' : newest === null ? '' : 'live'}`}>
        {state === null ? 'Connecting…' : ageText(newest, now)}
      </p>
      <div role="status" class={problems.length > 0 ? 'down' : 'up'}>
        {problems.map((problem) => (
          <p key={problem}>{problem}</p>
        ))}
      </div>
    </>
  )
}

function ageText(newest: number | null, now: number): string {
  return newest === null ? 'No facts yet' : `Newest fact ${formatAgo(Math.max(0, now - newest))}`
}

function problemsOf({ problem, meta }: GatewayState): string[] {
  if (problem !== null) return [`${problem} These figures may be out of date.`]
  if (meta === null) return []
  const { ageSeconds, feeds, setAside } = meta
  const stopped = feeds.filter(({ isStopped }) => isStopped).map(({ name }) => `The feed ${name} has stopped.`)
  const waiting = feeds.filter(({ isWaiting }) => isWaiting).map(({ name }) => `The feed ${name} waits for its source.`)
  return [
    ...(ageSeconds !== null && ageSeconds > staleSeconds
      ? [`The database has not been heard of for ${ageSeconds} seconds.`]
      : []),
    ...stopped,
    ...waiting,
    ...setAside.map(({ address, reason }) => `The vault ${address} is set aside: ${reason}`),
  ]
}
