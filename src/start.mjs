// Runs main.ts, after generating and compiling missing files.
import './npm-shell.mjs'
import '../prisma/generate.mjs'
import { pathToFileURL } from 'node:url'
import { compiled, keepBuild } from './compile.mjs'

// Without it packages run development checks: graphql-js looks for a second copy of itself at each value.
process.env['NODE_ENV'] ??= 'production'

const program = await compiled()
keepBuild(program)
await import(pathToFileURL(program).href)
