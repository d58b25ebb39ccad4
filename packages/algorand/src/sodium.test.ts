import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import * as Libsodium from './sodium.js'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))

/** Runs a module in a separate process and returns its output. */
async function printed(code: string, directory: string = here): Promise<string> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code], { cwd: directory })
  return stdout.trim()
}

test('libsodium is loaded on first use, not on import', async () => {
  const loaded = `Object.keys(createRequire(import.meta.url).cache).some((path) => path.endsWith('sodium-native.node'))`
  const code = `import { createRequire } from 'node:module'
    import { sodium } from './sodium.js'
    import { Bytes, Ed25519 } from './index.js'
    Bytes.wipe(Uint8Array.of(1))
    const before = ${loaded}
    sodium.randombytes_buf(new Uint8Array(1))
    console.log(before, ${loaded})`
  assert.equal(await printed(code), 'false true')
})

test('its functions are those of sodium-native, before and after the first use', () => {
  const { sodium_memzero } = Libsodium.sodium
  const native = createRequire(import.meta.url)('sodium-native') as Libsodium.Sodium
  assert.equal(sodium_memzero, native.sodium_memzero)
  assert.equal(Libsodium.sodium.crypto_sign_detached, native.crypto_sign_detached)
  assert.doesNotThrow(Libsodium.load)
  assert.doesNotThrow(Libsodium.check)
})

/** Puts the compiled loader next to a fake sodium-native, whose own loader finds `binary: 'own'`. */
function withPackage(t: TestContext, files: { [path: string]: string }): string {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-sodium-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  cpSync(join(here, 'platform', 'sodium.js'), join(directory, 'sodium.js'))
  for (const [path, text] of Object.entries(files)) {
    const file = join(directory, 'node_modules', 'sodium-native', path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return directory
}

const stub = {
  'package.json': '{ "name": "sodium-native" }',
  'index.js': "module.exports = { ...require('./binding') }",
  'binding.js': "module.exports = { binary: 'own' }",
}
const prebuilt = `prebuilds/${process.platform}-${process.arch}/sodium-native.node`

test('without a prebuilt binary that loads, sodium-native uses its own loader', async (t) => {
  for (const [files, hasBinary] of [
    [stub, false],
    [{ ...stub, [prebuilt]: 'not a library' }, true],
  ] as const) {
    const directory = withPackage(t, files)
    const code = `import { hasBinary, require } from ${JSON.stringify(pathToFileURL(join(directory, 'sodium.js')).href)}
      console.log(hasBinary(), require().binary)`
    assert.equal(await printed(code, directory), `${hasBinary} own`)
  }
})

test('without sodium-native there is no binary, and loading reports it', async (t) => {
  const directory = withPackage(t, {})
  const code = `import { hasBinary, load, require } from './sodium.js'
    const code = await Promise.resolve().then(require).catch((error) => error.code)
    console.log(hasBinary(), load(), code)`
  assert.equal(await printed(code, directory), 'false undefined MODULE_NOT_FOUND')
})
