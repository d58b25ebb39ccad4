/** Tests that processes which start at once install packages one at a time, with a stand-in for npm. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../../../', import.meta.url))
const timeout = 120_000

/** Like npm: replaces node_modules, and takes some time for it. Notes when it begins and ends. */
const standIn = `#!/bin/sh
echo begin >> npm.log
rm -rf node_modules
sleep 0.3
mkdir node_modules
echo end >> npm.log
`

/** A clone with the scripts that install, and a build that does nothing. */
class Clone {
  readonly #root = mkdtempSync(join(tmpdir(), 'latchkey-installing-'))

  constructor(t: TestContext) {
    t.after(() => rmSync(this.#root, { recursive: true, force: true }))
    for (const file of [
      'scripts/setup.mjs',
      'scripts/cache.mjs',
      'scripts/packages.mjs',
      'packages/cli/bin/checkNode.js',
      'packages/cli/bin/package.json',
    ]) {
      mkdirSync(dirname(join(this.#root, file)), { recursive: true })
      copyFileSync(join(repository, file), join(this.#root, file))
    }
    writeFileSync(join(this.#root, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(this.#root, 'scripts', 'build.mjs'), '')
    this.write('package-lock.json', '{}')
    mkdirSync(join(this.#root, 'bin'))
    this.write('bin/npm', standIn)
    chmodSync(join(this.#root, 'bin', 'npm'), 0o755)
  }

  write(file: string, text: string): void {
    writeFileSync(join(this.#root, file), text)
  }

  has(file: string): boolean {
    return existsSync(join(this.#root, file))
  }

  /** The calls that the stand-in has recorded. */
  get log(): string[] {
    return readFileSync(join(this.#root, 'npm.log'), 'utf8').trim().split('\n')
  }

  /** Sets up the clone in several processes, which begin once all of them have started. Returns their exit codes. */
  async setUp(count = 1): Promise<number[]> {
    const barrier = mkdtempSync(join(this.#root, 'barrier-'))
    const program = `
      import { readdirSync, writeFileSync } from 'node:fs'
      import { setUp } from ${JSON.stringify(join(this.#root, 'scripts', 'setup.mjs'))}
      writeFileSync(${JSON.stringify(`${barrier}/`)} + process.pid, '')
      while (readdirSync(${JSON.stringify(barrier)}).length < ${count}) await new Promise((resolve) => setTimeout(resolve, 5))
      setUp()`
    const PATH = [join(this.#root, 'bin'), process.env['PATH']].join(delimiter)
    const options = { env: { ...process.env, PATH }, stdio: 'ignore' } as const
    const children = Array.from({ length: count }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', program], options),
    )
    return Promise.all(children.map(async (child) => (await once(child, 'close'))[0] as number))
  }
}

test('processes that start at once install the packages once', { timeout }, async (t) => {
  const clone = new Clone(t)
  assert.deepEqual(await clone.setUp(4), [0, 0, 0, 0])
  assert.deepEqual(clone.log, ['begin', 'end'])
  clone.write('package-lock.json', '{ "other": true }')
  assert.deepEqual(await clone.setUp(3), [0, 0, 0])
  assert.deepEqual(clone.log, ['begin', 'end', 'begin', 'end'])
  assert.equal(clone.has('.latchkey-install.lock'), false)
})

test('an installation that failed or was killed is repeated, and leaves no lock', { timeout }, async (t) => {
  const clone = new Clone(t)
  clone.write('bin/npm', '#!/bin/sh\nmkdir -p node_modules\nexit 7\n')
  assert.deepEqual(await clone.setUp(), [7])
  assert.equal(clone.has('.latchkey-install.lock'), false)
  // Exits within the line, because the shell would continue with the next content of the file.
  clone.write('bin/npm', '#!/bin/sh\nkill -9 $PPID; exit\n')
  await clone.setUp()
  assert.equal(clone.has('.latchkey-install.lock'), true, 'of the killed process')
  clone.write('bin/npm', standIn)
  assert.deepEqual(await clone.setUp(3), [0, 0, 0])
  assert.deepEqual(clone.log, ['begin', 'end'])
})
