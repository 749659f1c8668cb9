import type { Outcome } from './contest.ts'

/** Measured figures for which goals are set. */
export interface Measured {
  readonly outcome: Outcome
  /** Statements a request, by contestant, then by workload. */
  readonly statements: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Of the list of W2, with one vault in it. */
  readonly statementsOfOne: number
  readonly firstAnswerSeconds: number
}

export interface Goal {
  readonly goal: string
  readonly figure: string
  /** Null where it was not measured. */
  readonly isReached: boolean | null
}

const flat = ['W1', 'W3', 'W5', 'W6']
const all = ['W1', 'W2', 'W3', 'W5', 'W6']
const every = ['W1', 'W3', 'W4', 'W5', 'W6']
const maxMegabytes = 160
const maxStatements = 6
const maxStartSeconds = 1.5

/** The goals, each with what was measured. */
export function goals(measured: Measured): Goal[] {
  const { outcome, firstAnswerSeconds } = measured
  return [
    factor(outcome, 'REST cold', 'bare', flat, 0.8),
    factor(outcome, 'REST cold', 'PostGraphile', flat, 2.5),
    factor(outcome, 'GraphQL cold', 'PostGraphile', all, 1.5),
    factor(outcome, 'REST hot', 'constant REST', every, 0.6),
    factor(outcome, 'GraphQL hot', 'constant GraphQL', ['W1', 'W2', ...every.slice(1)], 0.5),
    lengthOfSeries(outcome),
    ratioOfSeries(outcome),
    statementsOfLists(measured),
    memory(outcome),
    {
      goal: `first answer after start, on PostgreSQL with data: below ${maxStartSeconds} s`,
      figure: `${firstAnswerSeconds.toFixed(2)} s`,
      isReached: firstAnswerSeconds < maxStartSeconds,
    },
  ]
}

/** At least so many times the requests a second of another, on each of these workloads. */
function factor(outcome: Outcome, of: string, other: string, names: readonly string[], least: number): Goal {
  const goal = `${of}: at least ${least} of ${other} on ${names.join(', ')}`
  const ratios = names.map((name) => rate(outcome, name, of) / rate(outcome, name, other))
  return judged(
    goal,
    names.map((name, index) => `${name} ${(ratios[index] as number).toFixed(2)}`).join(', '),
    ratios.some(Number.isNaN) ? null : ratios.every((ratio) => ratio >= least),
  )
}

function lengthOfSeries(outcome: Outcome): Goal {
  const ratio = rate(outcome, 'W4m', 'REST cold') / rate(outcome, 'W4', 'REST cold')
  const isReached = Number.isNaN(ratio) ? null : ratio <= 1.5
  return judged('W4: at most 1.5 times the time of a middling series for the longest', ratio.toFixed(2), isReached)
}

function ratioOfSeries(outcome: Outcome): Goal {
  const ratio = rate(outcome, 'W4', 'REST cold') / rate(outcome, 'W1', 'bare')
  const isReached = Number.isNaN(ratio) ? null : ratio >= 0.2
  return judged('W4: at least 0.2 of the requests a second that bare has on W1', ratio.toFixed(2), isReached)
}

function statementsOfLists({ statements, statementsOfOne }: Measured): Goal {
  const ofFifty = statements.get('GraphQL cold')?.get('W2') ?? NaN
  return judged(
    `statements: the same number for 1 vault and for 50, at most ${maxStatements} for W2`,
    `${statementsOfOne} and ${ofFifty}`,
    statementsOfOne === ofFifty && ofFifty <= maxStatements,
  )
}

function memory(outcome: Outcome): Goal {
  const ways = ['REST cold', 'GraphQL cold', 'REST hot', 'GraphQL hot']
  const figures = [...outcome.values()].flatMap((byName) => ways.map((way) => byName.get(way)?.megabytes ?? NaN))
  const most = Math.max(...figures.filter((figure) => !Number.isNaN(figure)))
  const isReached = Number.isFinite(most) ? most < maxMegabytes : null
  return judged(`memory under load, on PostgreSQL: below ${maxMegabytes} MB`, `${most.toFixed(0)} MB`, isReached)
}

function rate(outcome: Outcome, workload: string, contestant: string): number {
  return outcome.get(workload)?.get(contestant)?.requestsASecond ?? NaN
}

function judged(goal: string, figure: string, isReached: boolean | null): Goal {
  return { goal, figure: isReached === null ? 'not measured' : figure, isReached }
}
