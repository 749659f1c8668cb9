import { maxBatchLines, sizeInLines } from '../batch.ts'
import { listsUntilPause } from '../reading/lists-until-pause.ts'
import type { Line } from '../reading/lines.ts'
import { unnamedOwner, type Subjects, subjectsOf } from './subjects.ts'

/** Lines that are applied together: each part by a separate writer; without parts, all by one writer in order. */
export interface LineSegment {
  readonly lines: readonly Line[]
  /** Indexes of the lines of each part, ascending; null where the lines are too few or depend on each other. */
  readonly parts: readonly (readonly number[])[] | null
}

/** Minimum lines of a round: for fewer, several writers do not pay. */
const minRoundLines = 400

/**
 * Returns the lines of a source as segments, in their order.
 * @param jobs number of writers; with fewer than two, each list is a segment without parts
 */
export async function* segmentsIn(lists: AsyncIterable<Line[]>, jobs: number): AsyncGenerator<LineSegment, void> {
  if (jobs < 2) for await (const lines of lists) yield { lines, parts: null }
  else
    for await (const some of listsUntilPause(lists, sizeInLines, jobs * maxBatchLines))
      yield* segmentsOf(some.flat(), jobs)
}

/**
 * Cuts lines into segments, in the order of the feed. A line that all others depend on comes between segments with parts.
 * Lines about the same vault, or about vaults that the same owner receives, are in one part.
 * @param jobs maximum number of parts
 */
export function segmentsOf(lines: readonly Line[], jobs: number): LineSegment[] {
  const segments: LineSegment[] = []
  let serial: Line[] = []
  const endSerial = (): void => {
    if (serial.length > 0) segments.push({ lines: serial, parts: null })
    serial = []
  }
  for (const { stretch, subjects } of stretchesOf(lines)) {
    const parts = subjects === null || stretch.length < minRoundLines ? null : partsOf(subjects, jobs)
    if (parts === null || parts.length < 2) {
      for (const line of stretch) serial.push(line)
      continue
    }
    endSerial()
    segments.push({ lines: stretch, parts })
  }
  endSerial()
  return segments
}

interface Stretch {
  readonly stretch: readonly Line[]
  /** Subjects of each line; null for a line that all others depend on. */
  readonly subjects: readonly (readonly string[])[] | null
}

function* stretchesOf(lines: readonly Line[]): Generator<Stretch> {
  const all: readonly Subjects[] = lines.map(subjectsOf)
  for (let from = 0; from < lines.length;) {
    const barrier = all.indexOf(null, from)
    const to = barrier === from ? from + 1 : barrier === -1 ? lines.length : barrier
    const subjects = all.slice(from, to).filter((each) => each !== null)
    yield { stretch: lines.slice(from, to), subjects: barrier === from ? null : subjects }
    from = to
  }
}

/** Distributes lines over parts of about the same size, so that no two parts share a subject. */
function partsOf(subjects: readonly (readonly string[])[], jobs: number): number[][] {
  const groups = new SubjectGroups()
  for (const each of subjects) groups.join(each)
  // A change of owner also counts the previous owner, which it does not name, and to which another line may assign a vault.
  if (subjects.some((each) => each.includes(unnamedOwner)))
    for (const each of subjects) if (each.length > 1) groups.join([...each, unnamedOwner])
  const linesOf = new Map<string, number[]>()
  subjects.forEach(([first], at) => {
    const group = first === undefined ? '' : groups.find(first)
    const found = linesOf.get(group)
    if (found === undefined) linesOf.set(group, [at])
    else found.push(at)
  })
  const parts = Array.from({ length: jobs }, (): number[] => [])
  for (const group of [...linesOf.values()].sort((a, b) => b.length - a.length)) {
    const part = smallest(parts)
    for (const at of group) part.push(at)
  }
  return parts.filter((part) => part.length > 0).map((part) => part.sort((a, b) => a - b))
}

function smallest(parts: readonly number[][]): number[] {
  return parts.reduce((least, part) => (part.length < least.length ? part : least))
}

/**
 * Groups of subjects that are connected by lines.
 * @see https://en.wikipedia.org/wiki/Disjoint-set_data_structure
 */
class SubjectGroups {
  readonly #parents = new Map<string, string>()

  /** Returns the subject that represents the group of a subject. */
  find(subject: string): string {
    let root = subject
    for (let parent = this.#parents.get(root); parent !== undefined; parent = this.#parents.get(root)) root = parent
    if (root !== subject) this.#parents.set(subject, root)
    return root
  }

  /** Merges the groups of the subjects of a line. */
  join([first, ...others]: readonly string[]): void {
    if (first === undefined || others.length === 0) return
    const root = this.find(first)
    for (const other of others) {
      const found = this.find(other)
      if (found !== root) this.#parents.set(found, root)
    }
  }
}
