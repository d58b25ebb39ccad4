/** One tarball with the commands and all packages of ours runs with npx, although the registry has none of them. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from '../support/daemon.test.helper.js'

type Report = { readonly name: string; readonly filename: string }
type PackAll = { packAll: (folder: string, reports: readonly Report[]) => string }

const { packAll } = (await import(pathToFileURL(join(root, 'scripts', 'pack-all.mjs')).href)) as PackAll

/** Writes the tarball of a package as `npm pack` would. */
function pack(folder: string, name: string, files: { readonly [path: string]: string }): Report {
  const stage = mkdtempSync(join(folder, 'stage-'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(stage, 'package', path, '..'), { recursive: true })
    writeFileSync(join(stage, 'package', path), text, { mode: 0o755 })
  }
  const filename = `${name.replace('@', '').replace('/', '-')}-1.0.0.tgz`
  execFileSync('tar', ['-czf', join(folder, filename), '-C', stage, 'package'])
  rmSync(stage, { recursive: true })
  return { name, filename }
}

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-all-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('the commands of the tarball run offline, with the packages inside it', { timeout: 300_000 }, (t) => {
  const folder = temporary(t)
  const manifest = (more: object): string => JSON.stringify({ version: '1.0.0', type: 'module', ...more })
  const inner = pack(folder, '@latchkey/inner', {
    'package.json': manifest({
      name: '@latchkey/inner',
      exports: './index.js',
      dependencies: { '@latchkey/deep': '1.0.0' },
    }),
    'index.js': "export { word } from '@latchkey/deep'",
  })
  const deep = pack(folder, '@latchkey/deep', {
    'package.json': manifest({ name: '@latchkey/deep', exports: './index.js' }),
    'index.js': "export const word = 'it works'",
  })
  const command = pack(folder, 'latchkey', {
    'package.json': manifest({
      name: 'latchkey',
      bin: { latchkey: 'bin/latchkey.js' },
      dependencies: { '@latchkey/inner': '1.0.0' },
    }),
    'bin/latchkey.js':
      "#!/usr/bin/env node\nimport { word } from '@latchkey/inner'\nconsole.log(word, ...process.argv.slice(2))",
  })
  const all = packAll(folder, [inner, deep, command])
  assert.deepEqual(readdirSync(folder).filter((name) => name.endsWith('.tgz')).length, 3, 'it is not among the others')
  const environment = { ...process.env, npm_config_cache: join(folder, 'cache'), npm_config_update_notifier: 'false' }
  const printed = execFileSync('npx', ['--yes', '--offline', '--package', all, 'latchkey', 'dev'], {
    cwd: temporary(t),
    env: environment,
    encoding: 'utf8',
  })
  assert.equal(printed, 'it works dev\n')
})
