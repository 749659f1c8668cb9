/**
 * Writes what is generated and committed: schema.graphql, the types of the REST documents, and those of a REST client,
 * as anybody makes them of /openapi.json, for the tests.
 * With --check it writes nothing, and fails where a file is not what it would write.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { codegen } from '@graphql-codegen/core'
import * as typedDocuments from '@graphql-codegen/typed-document-node'
import * as operations from '@graphql-codegen/typescript-operations'
import { parse, printSchema } from 'graphql'
import openapiTypes, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { schema } from './src/graphql/schema.ts'
import { openapi } from './src/rest/openapi.ts'

const operationsFolder = path.join(import.meta.dirname, 'src/rest/operations')

const sdl = `${printSchema(schema)}\n`
const outputs = {
  'schema.graphql': sdl,
  'src/rest/documents.generated.ts': await restDocuments(),
  'test/contract/client.generated.ts': await clientTypes(),
}

let drifted = false
for (const [name, content] of Object.entries(outputs)) {
  const file = path.join(import.meta.dirname, name)
  if (!process.argv.includes('--check')) await writeFile(file, content)
  else if ((await readFile(file, 'utf8').catch(() => '')) !== content) {
    drifted = true
    console.error(`${name} is not what the schema says: run npm run codegen, and commit it`)
  }
}
if (drifted) process.exitCode = 1

async function restDocuments(): Promise<string> {
  const files = (await readdir(operationsFolder)).sort()
  const documents = await Promise.all(
    files.map(async (location) => ({
      location,
      document: parse(await readFile(path.join(operationsFolder, location), 'utf8')),
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
    },
    documentMode: 'string',
    enumType: 'const',
    skipTypename: true,
    immutableTypes: true,
    useTypeImports: true,
  }
  const generated = await codegen({
    filename: 'documents.generated.ts',
    schema: parse(sdl),
    documents,
    config,
    plugins: [{ operations: {} }, { typedDocuments: {} }],
    pluginMap: { operations, typedDocuments },
  })
  return `// Written by npm run codegen from operations/ and schema.graphql.\n${generated}`
}

async function clientTypes(): Promise<string> {
  const types = astToString(await openapiTypes(JSON.parse(JSON.stringify(openapi)) as OpenAPI3))
  return `// Written by npm run codegen from src/rest/openapi.ts.\n${types}`
}
