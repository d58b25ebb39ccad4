/** Checks the rules of CONTRIBUTING.md that a program can check. */
import assert from 'node:assert/strict'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { importsOf, isTest, read, root, sources } from './sources.test.helper.js'

/** Which of our packages each may import, by entry. Tests may import more. */
const allowed: { [directory: string]: readonly string[] } = {
  'packages/algorand': [],
  'packages/http': [],
  'packages/http-client': ['@latchkey/algorand'],
  'packages/system': ['@latchkey/algorand'],
  'packages/algod': ['@latchkey/algorand', '@latchkey/http-client'],
  'packages/avm': ['@latchkey/algorand'],
  'packages/kmd-api': ['@latchkey/algorand'],
  'packages/kmd-client': ['@latchkey/algorand', '@latchkey/http-client', '@latchkey/kmd-api', '@latchkey/system'],
  'packages/pages': [
    '@latchkey/algorand',
    '@latchkey/algod',
    '@latchkey/kmd-api',
    '@latchkey/kmd-client',
    '@latchkey/x402-wire',
  ],
  'packages/devnet': ['@latchkey/algorand', '@latchkey/avm', '@latchkey/http', '@latchkey/system'],
  'packages/kmd': [
    '@latchkey/algorand',
    '@latchkey/algod',
    '@latchkey/http',
    '@latchkey/kmd-api',
    '@latchkey/pages/console',
    '@latchkey/system',
  ],
  'packages/x402-wire': ['@latchkey/algorand'],
  'packages/x402': [
    '@latchkey/algorand',
    '@latchkey/algod',
    '@latchkey/http-client',
    '@latchkey/kmd-client',
    '@latchkey/pages/paywall',
    '@latchkey/pages/sales',
    '@latchkey/system',
    '@latchkey/x402-wire',
  ],
  'packages/mcp': ['@latchkey/algorand', '@latchkey/algod', '@latchkey/kmd-client', '@latchkey/x402'],
  'packages/cli': [
    '@latchkey/algorand',
    '@latchkey/algod',
    '@latchkey/devnet',
    '@latchkey/http',
    '@latchkey/kmd',
    '@latchkey/kmd-api',
    '@latchkey/kmd-client',
    '@latchkey/mcp',
    '@latchkey/system',
    '@latchkey/x402',
  ],
  'examples/weather': ['@latchkey/x402'],
  bench: [
    '@latchkey/algorand',
    '@latchkey/algod',
    '@latchkey/devnet',
    '@latchkey/http',
    '@latchkey/kmd',
    '@latchkey/kmd-client',
    '@latchkey/system',
    '@latchkey/x402',
    '@latchkey/published',
  ],
}

/** Whether an import is an allowed package, through its main or another entry. */
function mayImport(allowedPaths: readonly string[], path: string): boolean {
  return allowedPaths.some((allowedPath) => path === allowedPath || path.startsWith(`${allowedPath}/`))
}

for (const [directory, allowedPaths] of Object.entries(allowed)) {
  test(`${directory} imports only packages below it`, () => {
    const files = sources(directory).filter((file) => !isTest(file))
    assert.ok(files.length > 0)
    for (const file of files) {
      for (const path of importsOf(file)) {
        if (path.startsWith('@latchkey/')) assert.ok(mayImport(allowedPaths, path), `${file} imports ${path}`)
        if (path.startsWith('.')) {
          const target = relative(join(root, directory), join(root, file, '..', path))
          assert.ok(!target.startsWith('..'), `${file} reaches out of its package: ${path}`)
        }
      }
    }
  })
}

test('CONTRIBUTING.md has the same table of imports', () => {
  const [, table] = /## Packages and imports\n\n((?:\|.*\n)+)/.exec(read('CONTRIBUTING.md'))!
  const documented = new Map<string, string[]>()
  for (const row of table!.split('\n').slice(2, -1)) {
    const [, names, imports] = row.split('|')
    const wordsOf = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word]) => word!)
    for (const name of wordsOf(names!)) documented.set(name, wordsOf(imports!).sort())
  }
  for (const [directory, allowedPaths] of Object.entries(allowed)) {
    if (!directory.startsWith('packages/')) continue
    const names = allowedPaths.map((path) => path.replace('@latchkey/', '').replace(/\/.*/, ''))
    const name = directory.replace('packages/', '')
    if (name !== 'cli') assert.deepEqual(documented.get(name), [...new Set(names)].sort(), name)
  }
})

test('no source file is longer than 500 lines', () => {
  for (const directory of ['packages', 'examples', 'test', 'bench']) {
    for (const file of sources(directory)) {
      const lines = read(file).split('\n').length
      assert.ok(lines <= 500, `${file} has ${lines} lines`)
    }
  }
})

test('nothing imports the command line', () => {
  for (const directory of Object.keys(allowed).filter((name) => name !== 'packages/cli')) {
    for (const file of sources(directory)) assert.ok(!importsOf(file).includes('latchkey'), file)
  }
})

test('importing a module has no side effects', () => {
  // Programs, which are started rather than imported.
  const started = /packages\/pages\/(?:console|paywall)\/|cleanup\.ts$|worker/i
  const statement = /^(?:await |void |process\.|globalThis\.|v8\.|console\.|setFlagsFromString)/m
  const files = sources('packages').filter((file) => !isTest(file) && !started.test(file))
  assert.deepEqual(
    files.filter((file) => statement.test(read(file))),
    [],
  )
})

test('no check depends on a call that bundlers remove', () => {
  // A bundler takes these functions for free of effects, and removes a statement that only calls one, although it throws.
  const statement = /^\s+(?:(?:de|en)codeURI(?:Component)?|BigInt|JSON\.parse|new (?:URL|RegExp|TextDecoder))\(.*\);?$/m
  const files = [...sources('packages'), ...sources('examples')].filter((file) => !isTest(file))
  assert.deepEqual(
    files.filter((file) => statement.test(read(file))),
    [],
  )
})
