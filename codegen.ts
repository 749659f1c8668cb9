/**
 * Writes what is generated and committed: schema.graphql, the types of the documents of REST and of the explorer,
 * and those of a REST and a GraphQL client for the tests, as anybody makes them of /openapi.json and schema.graphql.
 * With --check it writes nothing, and fails where a file is not what it would write.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { codegen } from '@graphql-codegen/core'
import * as typedDocuments from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import { parse, printSchema } from 'graphql'
import openapiTypes, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { schema } from './src/graphql/schema/schema.ts'

const operationsFolder = 'src/rest/operations'
const explorerOperations = 'src/web/operations'
const clientOperations = 'test/contract/client.graphql'

/** The explorer reads amounts and prices as the texts that the server has sent. */
const exactText = { Usd: 'string', Price: 'string' }

const sdl = `${printSchema(schema)}\n`
/** The files in the order in which they are written: the types of the REST client are made with those of its documents. */
const outputs: Readonly<Record<string, () => string | Promise<string>>> = {
  'schema.graphql': () => sdl,
  'src/rest/documents.generated.ts': async () => typedDocumentsOf(await filesOf(operationsFolder)),
  'src/web/documents.generated.ts': async () => typedDocumentsOf(await filesOf(explorerOperations), exactText),
  'test/contract/client.generated.ts': clientTypes,
  'test/contract/graphql-client.generated.ts': () => typedDocumentsOf([clientOperations]),
}

let drifted = false
for (const [name, contentOf] of Object.entries(outputs)) {
  const content = await contentOf()
  const file = path.join(import.meta.dirname, name)
  if (!process.argv.includes('--check')) await writeFile(file, content)
  else if ((await readFile(file, 'utf8').catch(() => '')) !== content) {
    drifted = true
    console.error(`${name} is not what the schema says: run npm run codegen, and commit it`)
  }
}
if (drifted) process.exitCode = 1

async function filesOf(folder: string): Promise<string[]> {
  return (await readdir(path.join(import.meta.dirname, folder))).sort().map((file) => `${folder}/${file}`)
}

async function typedDocumentsOf(files: readonly string[], scalars: Record<string, string> = {}): Promise<string> {
  const documents = await Promise.all(
    files.map(async (location) => ({
      location,
      document: parse(await readFile(path.join(import.meta.dirname, location), 'utf8')),
    })),
  )
  const config = {
    scalars: {
      Address: 'string',
      TxHash: 'string',
      UnixTime: 'number',
      BlockNumber: 'number',
      Usd: 'number',
      Price: 'number',
      ...scalars,
    },
    documentMode: 'string',
    enumType: 'const',
    skipTypename: true,
    immutableTypes: true,
    useTypeImports: true,
  }
  const generated = await codegen({
    filename: 'generated.ts',
    schema: parse(sdl),
    documents,
    config,
    plugins: [{ operations: {} }, { typedDocuments: {} }],
    pluginMap: { operations, typedDocuments },
  })
  const from = files.length === 1 ? path.basename(files[0] ?? '') : `${path.basename(path.dirname(files[0] ?? ''))}/`
  return `// Written by npm run codegen from ${from} and schema.graphql.\n${generated}`
}

async function clientTypes(): Promise<string> {
  // Imported here, after documents.generated.ts is written: it lists the values of its enums.
  const { openapi } = await import('./src/rest/openapi/document.ts')
  const types = astToString(await openapiTypes(JSON.parse(JSON.stringify(openapi)) as OpenAPI3))
  return `// Written by npm run codegen from src/rest/openapi/document.ts.\n${types}`
}
