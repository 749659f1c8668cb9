import type { ComparisonResult } from './comparison.ts'

/** Results of the benchmark. */
export interface SpeedResult {
  readonly comparison: ComparisonResult
  /** Statements per request, by target, then by workload. */
  readonly statements: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Statements for the list of W2 with one vault in it. */
  readonly statementsForOneVault: number
  readonly firstAnswerSeconds: number
}

/** A goal with the measured value, as text of the report. */
export interface Goal {
  readonly goal: string
  readonly measured: string
  /** Null where it was not measured. */
  readonly isReached: boolean | null
}

/** Workloads that the REST interface and the reference systems support: REST has no W2, the references no series. */
const restAndReferences = ['W1', 'W3', 'W5', 'W6']
const graphqlAndReferences = ['W1', 'W2', 'W3', 'W5', 'W6']
const rest = ['W1', 'W3', 'W4', 'W5', 'W6']
const graphql = ['W1', 'W2', 'W3', 'W4', 'W5', 'W6']
const maxMegabytes = 160
const maxStatements = 6
const maxStartSeconds = 1.5

/** Evaluates all goals. */
export function evaluateGoals(result: SpeedResult): Goal[] {
  const { comparison, firstAnswerSeconds } = result
  return [
    minimumRatio(comparison, 'REST cold', 'bare', restAndReferences, 0.8),
    minimumRatio(comparison, 'REST cold', 'PostGraphile', restAndReferences, 2.5),
    minimumRatio(comparison, 'GraphQL cold', 'PostGraphile', graphqlAndReferences, 1.5),
    minimumRatio(comparison, 'REST hot', 'constant REST', rest, 0.6),
    minimumRatio(comparison, 'GraphQL hot', 'constant GraphQL', graphql, 0.5),
    longestToMediumSeries(comparison),
    longestSeriesToBare(comparison),
    statementsPerList(result),
    memory(comparison),
    {
      goal: `first answer after start, on PostgreSQL with data: below ${maxStartSeconds} s`,
      measured: `${firstAnswerSeconds.toFixed(2)} s`,
      isReached: firstAnswerSeconds < maxStartSeconds,
    },
  ]
}

/** Goal: on each of these workloads, at least `minimum` times as many requests a second as the reference. */
function minimumRatio(
  comparison: ComparisonResult,
  target: string,
  reference: string,
  workloads: readonly string[],
  minimum: number,
): Goal {
  const goal = `${target}: at least ${minimum} of ${reference} on ${workloads.join(', ')}`
  const ratios = workloads.map((name) => rate(comparison, name, target) / rate(comparison, name, reference))
  return goalWith(
    goal,
    workloads.map((name, index) => `${name} ${(ratios[index] as number).toFixed(2)}`).join(', '),
    ratios.some(Number.isNaN) ? null : ratios.every((ratio) => ratio >= minimum),
  )
}

function longestToMediumSeries(comparison: ComparisonResult): Goal {
  const ratio = rate(comparison, 'W4m', 'REST cold') / rate(comparison, 'W4', 'REST cold')
  const isReached = Number.isNaN(ratio) ? null : ratio <= 1.5
  return goalWith(
    'W4: the longest series takes at most 1.5 times the time of a medium one',
    ratio.toFixed(2),
    isReached,
  )
}

function longestSeriesToBare(comparison: ComparisonResult): Goal {
  const ratio = rate(comparison, 'W4', 'REST cold') / rate(comparison, 'W1', 'bare')
  const isReached = Number.isNaN(ratio) ? null : ratio >= 0.2
  return goalWith('W4: at least 0.2 of the requests a second of bare on W1', ratio.toFixed(2), isReached)
}

function statementsPerList({ statements, statementsForOneVault }: SpeedResult): Goal {
  const forFifty = statements.get('GraphQL cold')?.get('W2') ?? NaN
  return goalWith(
    `statements: the same number for 1 vault and for 50, at most ${maxStatements} for W2`,
    `${statementsForOneVault} and ${forFifty}`,
    statementsForOneVault === forFifty && forFifty <= maxStatements,
  )
}

function memory(comparison: ComparisonResult): Goal {
  const targets = ['REST cold', 'GraphQL cold', 'REST hot', 'GraphQL hot']
  const all = [...comparison.values()].flatMap((byTarget) =>
    targets.map((target) => byTarget.get(target)?.megabytes ?? NaN),
  )
  const maximum = Math.max(...all.filter((megabytes) => !Number.isNaN(megabytes)))
  const isReached = Number.isFinite(maximum) ? maximum < maxMegabytes : null
  return goalWith(`memory under load, on PostgreSQL: below ${maxMegabytes} MB`, `${maximum.toFixed(0)} MB`, isReached)
}

/** Returns requests a second; NaN where they were not measured. */
function rate(comparison: ComparisonResult, workload: string, target: string): number {
  return comparison.get(workload)?.get(target)?.requestsPerSecond ?? NaN
}

function goalWith(goal: string, measured: string, isReached: boolean | null): Goal {
  return { goal, measured: isReached === null ? 'not measured' : measured, isReached }
}
