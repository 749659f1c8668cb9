// Runs main.ts, after generating and compiling missing files.
import '../prisma/generate.mjs'
import { pathToFileURL } from 'node:url'
import { compiled } from './compile.mjs'

// Without it packages run development checks: graphql-js looks for a second copy of itself at each value.
process.env['NODE_ENV'] ??= 'production'

await import(pathToFileURL(await compiled()).href)
