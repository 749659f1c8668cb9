// Generates and compiles everything in advance, so that the gateway can start on a read-only file system.
import '../prisma/generate.mjs'
import { compiled } from './compile.mjs'

await compiled()
