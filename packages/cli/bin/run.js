// Loads the compiled command and runs it. In a checkout that was installed without a build, builds it first.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export async function run(command) {
  const compiled = new URL(`../dist/${command}.js`, import.meta.url)
  if (!existsSync(compiled)) build()
  const { main } = await import(compiled.href)
  process.exitCode = await main(process.argv.slice(2))
}

function build() {
  const script = fileURLToPath(new URL('../../../scripts/build.mjs', import.meta.url))
  process.stderr.write('latchkey: building, which happens once and takes some seconds\n')
  const result = spawnSync(process.execPath, [script], { stdio: ['ignore', 2, 2] })
  if (result.status !== 0) process.exit(3)
}
