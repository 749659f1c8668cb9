// Runs main.ts, generating and compiling first what isn't there yet.
import '../prisma/generate.mjs'
import { pathToFileURL } from 'node:url'
import { compiled } from './compile.mjs'

await import(pathToFileURL(await compiled()).href)
