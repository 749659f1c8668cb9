import path from 'node:path'
import ts from 'typescript'

/** Texts of files, by their path from the root of the project. */
export type Sources = ReadonlyMap<string, string>

/** An import of a file or package. */
export interface Import {
  /** Path of the importing file. */
  readonly from: string
  /** Path of the imported file, or the package with its entry point. */
  readonly to: string
  /** Imported names, as the exporting file declares them; empty for namespace and side-effect imports. */
  readonly names: readonly string[]
}

/** Parses a file; the result is cached, since several rules check the same files. */
export function parse(file: string, text: string): ts.SourceFile {
  const cached = parsed.get(file)
  if (cached?.text === text) return cached
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  parsed.set(file, source)
  return source
}

/** Syntax trees by file. */
const parsed = new Map<string, ts.SourceFile>()

/** Returns all imports of files, including type imports. */
export function importsOf(sources: Sources): Import[] {
  return [...sources].flatMap(([from, text]) =>
    nodes(parse(from, text)).flatMap((node) => {
      const specifier = specifierOf(node)
      if (specifier === null) return []
      const to = specifier.startsWith('.') ? path.posix.join(path.posix.dirname(from), specifier) : specifier
      return [{ from, to, names: namesOf(node) }]
    }),
  )
}

/** Returns the import cycles, each as the path around it. */
export function importCycles(imports: readonly Import[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to])
  const visited = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, ancestors: readonly string[]): void => {
    if (ancestors.includes(file)) {
      return void cycles.push([...ancestors.slice(ancestors.indexOf(file)), file].join(' -> '))
    }
    if (visited.has(file)) return
    for (const to of next.get(file) ?? []) visit(to, [...ancestors, file])
    visited.add(file)
  }
  for (const file of next.keys()) visit(file, [])
  return cycles
}

/** Returns whether a file only re-exports. */
export function isBarrel(file: ts.SourceFile): boolean {
  const isImportOrExport = (statement: ts.Statement): boolean =>
    ts.isExportDeclaration(statement) || ts.isImportDeclaration(statement)
  return file.statements.some(ts.isExportDeclaration) && file.statements.every(isImportOrExport)
}

/** Returns whether a file has a default export. */
export function hasDefaultExport(file: ts.SourceFile): boolean {
  return nodes(file).some(
    (node) =>
      ts.isExportAssignment(node) ||
      (node.kind === ts.SyntaxKind.DefaultKeyword && node.parent.kind !== ts.SyntaxKind.DefaultClause) ||
      (ts.isExportSpecifier(node) && node.name.text === 'default'),
  )
}

/**
 * Returns the names that several files declare and export.
 * @returns lines such as `name: file, file`, sorted
 */
export function duplicateExports(sources: Sources): string[] {
  const files = new Map<string, Set<string>>()
  for (const [file, text] of sources) {
    for (const name of exportedNames(parse(file, text))) files.set(name, (files.get(name) ?? new Set()).add(file))
  }
  return [...files]
    .filter(([, among]) => among.size > 1)
    .map(([name, among]) => `${name}: ${[...among].join(', ')}`)
    .sort()
}

/** Returns the names that a file declares and exports. */
function exportedNames(file: ts.SourceFile): string[] {
  return file.statements.flatMap((statement): string[] => {
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
    if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map(({ name }) => name.getText())
    }
    return isNamedDeclaration(statement) && statement.name !== undefined ? [statement.name.text] : []
  })
}

function isNamedDeclaration(
  statement: ts.Statement,
): statement is
  | ts.FunctionDeclaration
  | ts.ClassDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.EnumDeclaration {
  return (
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isEnumDeclaration(statement)
  )
}

/**
 * Returns the doc comments whose first word is What or Who, which stands for a noun.
 * @returns lines such as `file: first line of the comment`
 */
export function nounClauseComments(sources: Sources): string[] {
  return [...sources].flatMap(([file, text]) =>
    Array.from(
      text.matchAll(/\/\*\*[\s*]*((?:What|Who)\b[^\n]*?)(?:\s*\*\/|\n)/g),
      ([, line]) => `${file}: ${line ?? ''}`,
    ),
  )
}

/** Returns the uses of the process and the clock in a file. */
export function effectsOf(file: ts.SourceFile): string[] {
  return nodes(file).flatMap((node) => {
    if (ts.isNewExpression(node) && node.arguments?.length === 0 && node.expression.getText() === 'Date')
      return ['new Date()']
    if (!ts.isPropertyAccessExpression(node)) return []
    const text = node.getText()
    return ['process.env', 'process.exit', 'process.argv', 'Date.now'].includes(text) ? [text] : []
  })
}

function specifierOf(node: ts.Node): string | null {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return textOf(node.moduleSpecifier)
  if (ts.isImportTypeNode(node)) return textOf(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined)
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return textOf(node.arguments[0])
  return null
}

function textOf(specifier: ts.Node | undefined): string | null {
  if (specifier === undefined) return null
  if (!ts.isStringLiteralLike(specifier)) throw new Error(`Cannot resolve the import of ${specifier.getText()}`)
  return specifier.text
}

function namesOf(node: ts.Node): string[] {
  if (!ts.isImportDeclaration(node)) return []
  const bindings = node.importClause?.namedBindings
  if (bindings === undefined || !ts.isNamedImports(bindings)) return []
  return bindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
}

/** Returns a node and all its descendants, without tokens and documentation comments. */
function nodes(node: ts.Node): ts.Node[] {
  const all: ts.Node[] = []
  const visit = (one: ts.Node): void => {
    all.push(one)
    ts.forEachChild(one, visit)
  }
  visit(node)
  return all
}
