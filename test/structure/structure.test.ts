/** The rules of CONTRIBUTING.md that a program can check. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Which of our packages each may import, by the face it shows. Tests may import more. */
const allowed: { [directory: string]: readonly string[] } = {
  'packages/algorand': [],
  'packages/http': [],
  'packages/pages': [],
  'packages/devnet': ['@latchkey/algorand', '@latchkey/http'],
  'packages/kmd': ['@latchkey/algorand', '@latchkey/http', '@latchkey/pages/console'],
  'packages/x402': ['@latchkey/algorand', '@latchkey/http', '@latchkey/kmd/client', '@latchkey/pages/paywall'],
  'packages/cli': [
    '@latchkey/algorand',
    '@latchkey/devnet',
    '@latchkey/http',
    '@latchkey/kmd',
    '@latchkey/kmd/client',
    '@latchkey/x402/client',
    '@latchkey/x402/facilitator',
    '@latchkey/x402/node',
    '@latchkey/x402/server',
  ],
  'examples/weather': ['@latchkey/x402/client', '@latchkey/x402/hono', '@latchkey/x402/server'],
  bench: [
    '@latchkey/algorand',
    '@latchkey/http',
    '@latchkey/kmd',
    '@latchkey/kmd/client',
    '@latchkey/x402/client',
    '@latchkey/x402/facilitator',
    '@latchkey/x402/node',
    '@latchkey/x402/server',
  ],
}

function sources(directory: string): string[] {
  return readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => /\.tsx?$/.test(name) && !name.split('/').some((part) => part === 'dist' || part === 'node_modules'),
    )
    .map((name) => join(directory, name))
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const from = /^\s*(?:import|export)\b[^'"]*?\bfrom\s+'([^']+)'/gm
  const bare = /^\s*import\s+'([^']+)'/gm
  return [...text.matchAll(from), ...text.matchAll(bare)].map(([, path]) => path!)
}

const isTest = (file: string): boolean => /\.test\.|\/testing\/|\.support\.|\.helper\./.test(file)

for (const [directory, mayImport] of Object.entries(allowed)) {
  test(`${directory} imports only what stands below it`, () => {
    const files = sources(directory).filter((file) => !isTest(file))
    assert.ok(files.length > 0)
    for (const file of files) {
      for (const path of importsOf(file)) {
        if (path.startsWith('@latchkey/')) assert.ok(mayImport.includes(path), `${file} imports ${path}`)
        if (path.startsWith('.')) {
          const target = relative(join(root, directory), join(root, file, '..', path))
          assert.ok(!target.startsWith('..'), `${file} reaches out of its package: ${path}`)
        }
      }
    }
  })
}

test('the client stays light: nothing of the daemon, no native code', () => {
  for (const file of sources('packages/kmd/src/client').filter((name) => !isTest(name))) {
    for (const path of importsOf(file)) {
      const isLight = path.startsWith('node:') || (path.startsWith('./') && !path.includes('..'))
      assert.ok(isLight, `${file} imports ${path}`)
    }
  }
})

test('no source file is longer than 500 lines', () => {
  for (const directory of ['packages', 'examples', 'test', 'bench']) {
    for (const file of sources(directory)) {
      const lines = readFileSync(join(root, file), 'utf8').split('\n').length
      assert.ok(lines <= 500, `${file} has ${lines} lines`)
    }
  }
})

test('nothing imports the command line', () => {
  for (const directory of ['packages/algorand', 'packages/http', 'packages/devnet', 'packages/kmd', 'packages/x402']) {
    for (const file of sources(directory)) assert.ok(!importsOf(file).includes('@latchkey/cli'), file)
  }
})
