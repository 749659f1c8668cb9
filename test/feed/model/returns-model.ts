import { floatOf, minus, nothing, over, plus, type Rational, times } from './rational.ts'
import { growthOf, type VaultFold } from './vault-model.ts'
import type { WorldModel } from './world-model.ts'

const secondsPerDay = 86_400
const window = 30

/** Returns liveApr and sigma of a strategy by DECISIONS.md, from all valuations of all of its vaults. */
export function figuresOf(model: WorldModel, id: string): { liveApr: number | null; sigma: number | null } {
  const vaults = model.addresses
    .filter((address) => model.historyOf(address)?.[0].strategy === id)
    .flatMap((address) => model.vault(address) ?? [])
  const newest = Math.max(-1, ...vaults.flatMap(({ points }) => [...points.keys()]))
  const lastDay = Math.floor(newest / secondsPerDay) - 1
  const growths = Array.from({ length: window }, (_, index) => dayGrowth(vaults, lastDay - window + 1 + index))
  const known = growths.filter((growth) => growth !== null).map(floatOf)
  if (newest < 0 || known.length < window) return { liveApr: null, sigma: null }
  const compounded = known.reduce((product, growth) => product * growth, 1)
  const liveApr = ((compounded - 1) * 365) / window
  if (known.includes(0)) return { liveApr, sigma: null }
  const logs = known.map((growth) => Math.log(growth))
  const mean = logs.reduce((sum, log) => sum + log, 0) / window
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (window - 1)
  return { liveApr, sigma: Math.sqrt(variance * 365) }
}

/** Returns the growth of a day over all vaults, weighted by their value at its start; null where none had value. */
function dayGrowth(vaults: readonly VaultFold[], day: number): Rational | null {
  const midnight = day * secondsPerDay
  let [startUsd, grownUsd] = [nothing, nothing]
  for (const { valued } of vaults) {
    const start = valued.findLast(({ ts }) => ts <= midnight)?.leftUsd ?? nothing
    startUsd = plus(startUsd, start)
    grownUsd = plus(grownUsd, times(start, growthOf(valued, day)))
  }
  return minus(startUsd, nothing).n === 0n ? null : over(grownUsd, startUsd)
}
