// Bundles the explorer for browsers: hashed names, and each file also compressed as far as it goes, once.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

/** Packages that the browser loads, all of them in the bundle. */
export const browserPackages = ['@tanstack/virtual-core', '@urql/core', 'graphql-sse', 'preact', 'uplot']

/**
 * Writes the bundle and its manifest.json, which names the script and the style sheet of the page, and all files.
 * @param folder that it is written into
 */
export async function bundleExplorer(folder) {
  const { build } = await import('esbuild')
  const { metafile } = await build({
    entryPoints: { explorer: path.join(import.meta.dirname, 'main.tsx') },
    outdir: folder,
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    define: { 'process.env.NODE_ENV': '"production"' },
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  })
  const files = Object.keys(metafile.outputs).map((file) => path.basename(file))
  for (const file of files) compressFile(path.join(folder, file))
  const named = (pattern) => files.find((file) => pattern.test(file))
  const manifest = { script: named(/^explorer-\w+\.js$/), style: named(/^explorer-\w+\.css$/), files }
  writeFileSync(path.join(folder, 'manifest.json'), JSON.stringify(manifest))
}

function compressFile(file) {
  const content = readFileSync(file)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT }
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params }))
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }))
}
