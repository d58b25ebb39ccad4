// Bundles the console into separate files without inline code, so that its content security policy needs no exception.
import { fileURLToPath } from 'node:url'
import { compactApi } from '../compactApi.mjs'

export const settings = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  plugins: [compactApi],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../dist/console', import.meta.url)),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
}
