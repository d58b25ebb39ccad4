/** Checks that the README's compatibility promises match the versions under test. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')

type Lock = { packages: { [path: string]: { version?: string } } }
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock

const versionOf = (name: string): string | undefined => packages[`node_modules/${name}`]?.version

test('the versions in the compatibility table are the installed ones', () => {
  const [, table] = /## Compatibility\n\n.*?\n\n((?:\|.*\n)+)/s.exec(readme)!
  const rows = table!
    .split('\n')
    .slice(2, -1)
    .map((row) => row.split('|').map((cell) => cell.trim()))
  let checked = 0
  for (const [, names = '', versions = ''] of rows) {
    const packaged = [...names.matchAll(/`([^`]+)`/g)]
      .map(([, name]) => name!)
      .filter((name) => !name.startsWith('node:'))
    const frameworks = names.startsWith('Hono') ? ['hono', 'express', 'fastify'] : packaged
    const said = versions.split(', ').filter((version) => /^[0-9]/.test(version))
    if (said.length === 0) continue
    for (const [index, name] of frameworks.entries()) {
      assert.equal(said[index] ?? said[0], versionOf(name), name)
      checked++
    }
  }
  assert.equal(checked, 16)
})
