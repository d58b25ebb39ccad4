// Finds the compiled command. In a checkout that was installed without building, builds it first, once.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export async function load(command) {
  const compiled = new URL(`../dist/${command}.js`, import.meta.url)
  if (!existsSync(compiled)) build()
  return await import(compiled.href)
}

function build() {
  const script = fileURLToPath(new URL('../../../scripts/build.mjs', import.meta.url))
  process.stderr.write('latchkey: building, this is done once and takes some seconds\n')
  const result = spawnSync(process.execPath, [script], { stdio: ['ignore', 2, 2] })
  if (result.status !== 0) process.exit(3)
}
