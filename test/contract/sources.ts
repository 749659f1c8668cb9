import path from 'node:path'
import ts from 'typescript'

/** Texts of files, by their path from the top of the project. */
export type Sources = ReadonlyMap<string, string>

export interface Import {
  /** Path of the file that imports. */
  readonly from: string
  /** Path of the file that is imported, or the package and its entry. */
  readonly to: string
  /** Names that are imported, as the other side calls them; none where all or nothing is. */
  readonly names: readonly string[]
}

export function parse(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
}

/** All that files import, for their types too. */
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

/** Circles of files that import each other, each as the way round. */
export function circles(imports: readonly Import[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to])
  const done = new Set<string>()
  const found: string[] = []
  const walk = (file: string, way: readonly string[]): void => {
    if (way.includes(file)) return void found.push([...way.slice(way.indexOf(file)), file].join(' -> '))
    if (done.has(file)) return
    for (const to of next.get(file) ?? []) walk(to, [...way, file])
    done.add(file)
  }
  for (const file of next.keys()) walk(file, [])
  return found
}

/** Whether a file only passes values on. */
export function isBarrel(file: ts.SourceFile): boolean {
  const passesOn = (statement: ts.Statement): boolean =>
    ts.isExportDeclaration(statement) || ts.isImportDeclaration(statement)
  return file.statements.some(ts.isExportDeclaration) && file.statements.every(passesOn)
}

export function hasDefaultExport(file: ts.SourceFile): boolean {
  return nodes(file).some(
    (node) =>
      ts.isExportAssignment(node) ||
      (node.kind === ts.SyntaxKind.DefaultKeyword && node.parent.kind !== ts.SyntaxKind.DefaultClause) ||
      (ts.isExportSpecifier(node) && node.name.text === 'default'),
  )
}

/** What a file asks of its process and the clock. */
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
  if (!ts.isStringLiteralLike(specifier)) throw new Error(`An import of what can't be read: ${specifier.getText()}`)
  return specifier.text
}

function namesOf(node: ts.Node): string[] {
  if (!ts.isImportDeclaration(node)) return []
  const bindings = node.importClause?.namedBindings
  if (bindings === undefined || !ts.isNamedImports(bindings)) return []
  return bindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text)
}

function nodes(node: ts.Node): ts.Node[] {
  return [node, ...node.getChildren().flatMap(nodes)]
}
