// Runs main.ts, generating and compiling first what isn't there yet.
import '../prisma/generate.mjs'
import { pathToFileURL } from 'node:url'
import { compiled } from './compile.mjs'

// Packages check more of themselves where this isn't said: graphql-js whether there are two of it, at each value.
process.env['NODE_ENV'] ??= 'production'

await import(pathToFileURL(await compiled()).href)
