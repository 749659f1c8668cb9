import { CompiledRun, type OutputWriter } from './compiled-run.ts'
import { JsonText } from './json-text.ts'

/** An operation whose fields, arguments and types are resolved. */
export class CompiledOperation {
  /**
   * @param fields number of its fields
   * @param write writes the data
   */
  constructor(
    readonly fields: number,
    readonly write: OutputWriter,
  ) {}

  /**
   * Writes the data, with null in place of the body. Rejects at the first failure; graphql-js then produces the
   * response.
   * @param maxCharacters maximum length of the data
   * @throws {TooLong} when it is longer
   */
  async run(
    rootValue: unknown,
    context: unknown,
    variables: CompiledRun['variables'],
    maxCharacters: number,
  ): Promise<JsonText> {
    const run = new CompiledRun(context, variables, maxCharacters)
    try {
      const text = this.write(rootValue, run)
      await run.settled()
      run.limit(text.length + (run.body?.length ?? 0))
      return new JsonText(text.toString(), run.body?.toString() ?? null)
    } finally {
      run.end()
    }
  }
}
