import { readFile } from 'node:fs/promises'
import type { KnownOperations } from '../../http/graphql/persisted-operations.ts'

/** A manifest of operations that cannot be read. */
export class BadManifest extends Error {
  constructor(file: string, problem: string) {
    super(`The configuration can't be used:\n  PERSISTED_OPERATIONS names ${file}, ${problem}`)
    this.name = 'BadManifest'
  }
}

/**
 * Reads the operations that clients may send by id only, in the format of Apollo's `generate-persisted-query-manifest`,
 * or of Relay's compiler: an object of texts by id.
 * @param file null for none
 * @throws {BadManifest}
 */
export async function readManifest(file: string | null): Promise<KnownOperations> {
  if (file === null) return new Map()
  const manifest = parse(file, await textOf(file))
  const { format, operations } = manifest
  if (format === undefined) return new Map(Object.entries(manifest).map(([id, text]) => operation(file, id, text)))
  if (format !== 'apollo-persisted-query-manifest' || !Array.isArray(operations)) {
    throw new BadManifest(
      file,
      'whose format is neither an apollo-persisted-query-manifest nor an object of texts by id',
    )
  }
  return new Map(operations.map((each: Partial<ApolloOperation> | null) => operation(file, each?.id, each?.body)))
}

interface ApolloOperation {
  readonly id: unknown
  readonly body: unknown
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new BadManifest(file, `which cannot be read: ${(error as Error).message}`)
  }
}

function parse(file: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const manifest: unknown = JSON.parse(text)
    if (typeof manifest === 'object' && manifest !== null && !Array.isArray(manifest)) return { ...manifest }
  } catch {
    // Handled below, like JSON that is not an object.
  }
  throw new BadManifest(file, 'which is no JSON object')
}

function operation(file: string, id: unknown, text: unknown): [id: string, text: string] {
  if (typeof id === 'string' && typeof text === 'string') return [id, text]
  throw new BadManifest(file, `whose operation ${JSON.stringify(id)} has no text`)
}
