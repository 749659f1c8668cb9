import path from 'node:path'

interface Compiler {
  compiled(): Promise<string>
}

/** Folder of the explorer's bundle, which is made where it is missing. */
export async function explorerFolder(): Promise<string> {
  const compiler = path.resolve(import.meta.dirname, '../../src/compile.mjs')
  const { compiled } = (await import(compiler)) as Compiler
  return path.join(path.dirname(await compiled()), 'web')
}
