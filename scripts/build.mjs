// Compiles every package, the WebAssembly module of the key derivation, and the web pages. Quick when nothing changed.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

if (!existsSync(tsc)) {
  // A production install has no compiler; published packages carry their built files.
  console.error('latchkey: no TypeScript compiler installed, nothing built')
  process.exit(0)
}

const steps = [[tsc, '-b', root], [join(root, 'scripts', 'build-wasm.mjs')], [join(root, 'scripts', 'build-pages.mjs')]]
for (const [script, ...args] of steps) {
  if (!existsSync(script)) continue
  const result = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' })
  if (result.status !== 0) process.exit(result.status ?? 1)
}
