/** Tests what a command loads when it starts: the bundle, unless the checkout was compiled later, and little else. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { makeDataDir, removeDataDir, root, startDaemon } from '../support/daemon.test.helper.js'

const run = promisify(execFile)
const timeout = 60_000

/** Creates the scripts in `bin` with a bundle and a compiled command that print which of them runs. */
function fakeCheckout(t: TestContext): { directory: string; write: (path: string, text: string) => void } {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-checkout-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  cpSync(join(root, 'packages/cli/bin'), join(directory, 'packages/cli/bin'), { recursive: true })
  write('packages/cli/package.json', '{ "type": "module" }')
  write('packages/cli/bundle/package.json', '{ "type": "commonjs" }')
  write('packages/cli/bundle/kmd.js', "exports.main = async () => { console.log('bundle'); return 7 }")
  return { directory, write }
}

/** Adds the script that builds the bundles, and its inputs besides the command itself. */
function makeBuildable(directory: string, write: (path: string, text: string) => void): void {
  for (const path of ['scripts/build-commands.mjs', 'scripts/packages.mjs'])
    cpSync(join(root, path), join(directory, path))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  rmSync(join(directory, 'packages/cli/bundle'), { recursive: true })
  write('packages/cli/tsconfig.json', '{}')
  write('package-lock.json', '{}')
  const others = ['cli/dist/latchkey.js', 'cli/dist/dev/cleanup.js', 'kmd/dist/derivation/worker.js']
  // Long, so a build takes a while after the first bundle.
  const text = Array.from({ length: 5_000 }, (_, index) => `export const value${index} = () => ${index}\n`).join('')
  for (const path of others) write(`packages/${path}`, text)
  write('packages/kmd/dist/derivation/romix.wasm', '')
}

async function runKmd(directory: string): Promise<{ code: number; stdout: string }> {
  const command = [join(directory, 'packages/cli/bin/kmd.js'), '--help']
  return run(process.execPath, command, { timeout }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  )
}

suite('a command', { concurrency: 2, timeout: 4 * timeout }, () => {
  test('runs the bundle of a published package, and exits with its code', async (t) => {
    const { directory } = fakeCheckout(t)
    assert.deepEqual(await runKmd(directory), { code: 7, stdout: 'bundle\n' })
  })

  test('runs the compiled modules of a checkout if any package was compiled after the bundle', async (t) => {
    const { directory, write } = fakeCheckout(t)
    write('packages/cli/tsconfig.json', '{}')
    write('packages/cli/dist/kmd.js', "export const main = async () => { console.log('compiled'); return 8 }")
    write('packages/cli/dist/.tsbuildinfo', '')
    write('packages/kmd/dist/.tsbuildinfo', '')
    const compiled = { code: 8, stdout: 'compiled\n' }
    assert.deepEqual(await runKmd(directory), compiled, 'without a finished bundle')
    for (const name of ['cli', 'kmd']) rmSync(join(directory, 'packages', name, 'dist/.tsbuildinfo'))
    assert.deepEqual(await runKmd(directory), compiled, 'without a finished bundle, and without notes of the compiler')
    write('packages/cli/dist/.tsbuildinfo', '')
    write('packages/kmd/dist/.tsbuildinfo', '')
    write('packages/cli/bundle/.built-from', '')
    const [before, after] = [new Date(1_700_000_000_000), new Date(1_700_000_001_000)]
    const touch = (path: string, time: Date): void => utimesSync(join(directory, 'packages', path), time, time)
    touch('cli/dist/.tsbuildinfo', before)
    touch('kmd/dist/.tsbuildinfo', before)
    touch('cli/bundle/.built-from', after)
    assert.deepEqual(await runKmd(directory), { code: 7, stdout: 'bundle\n' }, 'with a current bundle')
    touch('kmd/dist/.tsbuildinfo', new Date(1_700_000_002_000))
    assert.deepEqual(await runKmd(directory), compiled, 'with a bundle of before')
  })

  test('runs the latest compiled modules, even if they were compiled during a build', async (t) => {
    const { directory, write } = fakeCheckout(t)
    const compile = (text: string): void => {
      write('packages/cli/dist/kmd.js', `export const main = async () => { console.log('${text}'); return 7 }`)
      write('packages/cli/dist/.tsbuildinfo', text)
    }
    makeBuildable(directory, write)
    compile('first')
    const build = () => run(process.execPath, [join(directory, 'scripts/build-commands.mjs')], { timeout })
    let isOver = false
    const built = build().finally(() => {
      isOver = true
    })
    const bundle = join(directory, 'packages/cli/bundle/kmd.js')
    while (!isOver && !(existsSync(bundle) && readFileSync(bundle, 'utf8').includes('first'))) {
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    compile('second')
    await built
    assert.deepEqual(await runKmd(directory), { code: 7, stdout: 'second\n' })
    await build()
    assert.match(readFileSync(bundle, 'utf8'), /second/)
    assert.deepEqual(await runKmd(directory), { code: 7, stdout: 'second\n' })
    const parts = readdirSync(dirname(bundle)).filter((name) => name.endsWith('.part'))
    assert.deepEqual(parts, [])
  })

  test('loads neither libsodium nor SQLite nor HTTP to print its help', async () => {
    for (const name of ['kmd', 'latchkey']) assert.deepEqual(await loadedBy(name, ['--help']), [], name)
    assert.deepEqual(await loadedBy('latchkey', ['wallet', 'list', '--help']), [])
  })
})

/** Returns the native libraries and the slow Node modules that are loaded when the command exits. */
async function loadedBy(name: string, args: readonly string[]): Promise<string[]> {
  const report = `process.on('exit', () => {
    const slow = ['http', 'https', 'internal/deps/undici/undici', 'v8'].map((name) => 'NativeModule ' + name)
    const native = Object.keys(require.cache).filter((path) => path.endsWith('.node'))
    console.error(JSON.stringify([...native, ...process.moduleLoadList.filter((one) => slow.includes(one))]))
  })`
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-report-'))
  try {
    writeFileSync(join(directory, 'report.cjs'), report)
    const command = ['--require', join(directory, 'report.cjs'), join(root, `packages/cli/bin/${name}.js`), ...args]
    const { stderr } = await run(process.execPath, command, { timeout })
    return JSON.parse(stderr) as string[]
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

test('a daemon from a bundle loads the console on demand', { timeout }, async (t) => {
  const daemon = await startDaemon()
  t.after(() => daemon.stop())
  const page = await daemon.call('GET', '/console/', undefined, { token: null })
  assert.equal(page.status, 200)
  assert.match(page.text, /<html/)
})

test('a daemon is ready for wallets soon after it listens, without a request', { timeout }, async (t) => {
  const dir = makeDataDir()
  t.after(() => removeDataDir(dir))
  const daemon = await startDaemon({ dir })
  t.after(() => daemon.stop())
  const mapped = (): string => readFileSync(`/proc/${daemon.pid}/maps`, 'latin1')
  while (!/sodium-native\.node/.test(mapped())) await new Promise((resolve) => setTimeout(resolve, 10))
  const { status } = await daemon.call('GET', '/v1/wallets')
  assert.equal(status, 200)
})
