// How the paywall is bundled: one script, whose address the page gives.
import { fileURLToPath } from 'node:url'

export const settings = {
  root: fileURLToPath(new URL('.', import.meta.url)),
  build: {
    outDir: fileURLToPath(new URL('../dist/paywall', import.meta.url)),
    emptyOutDir: true,
    lib: { entry: 'main.ts', formats: ['es'], fileName: 'paywall' },
  },
}
