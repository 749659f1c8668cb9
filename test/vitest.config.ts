import { defineConfig } from 'vitest/config'

export default defineConfig({
  // One copy of graphql: Vite would take its ES module, and the libraries, loaded by Node, its CommonJS one.
  resolve: { alias: { graphql: 'graphql/index.js' } },
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    // One process more than the machine of CI has cores, since many tests wait. Each has one database that its test files
    // share and empty.
    pool: 'forks',
    maxWorkers: 3,
    isolate: false,
    // They end what hangs, and nothing else: none may be reached because the machine is busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
  },
})
