// Generates and compiles what a start would, so that the gateway can be started where nothing may be written.
import '../prisma/generate.mjs'
import { compiled } from './compile.mjs'

await compiled()
