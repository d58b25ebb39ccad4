// Compiles every package, the WebAssembly module of the key derivation, the web pages, and the bundled commands. Does
// little work if nothing changed.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './packages.mjs'

const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')

if (!existsSync(tsc)) {
  // A production install has no compiler; published packages contain their built files.
  console.error('latchkey: no TypeScript compiler installed, nothing built')
  process.exit(0)
}

const steps = [
  [tsc, '-b', root],
  ...['build-wasm.mjs', 'build-pages.mjs', 'build-commands.mjs'].map((name) => [join(root, 'scripts', name)]),
]
for (const [script, ...args] of steps) {
  if (!existsSync(script)) continue
  const result = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit' })
  if (result.status !== 0) process.exit(result.status ?? 1)
}
