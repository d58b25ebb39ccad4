/** Follows the worked example of CONTRIBUTING.md in a copy of the two packages that it edits. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { read, root } from './sources.test.helper.js'

/** In the order of their imports. */
const copied = ['kmd-api', 'kmd']

type Edit = { file: string; code: string }

/** The files that the section names, each with the block that follows. */
function edits(): Edit[] {
  const [, section] = read('CONTRIBUTING.md').split('## Changes to the API\n')
  const found = section!
    .split('\n## ')[0]!
    .matchAll(/in `(packages\/[^`]+\.ts)`:\n\n```ts\n([^`]*(?:`[^`]+`[^`]*)*)```/g)
  return [...found].map(([, file, code]) => ({ file: file!, code: code! }))
}

/** Copies both packages without their tests. Everything else is linked. */
function copyPackages(directory: string): void {
  mkdirSync(join(directory, 'packages'))
  for (const name of readdirSync(join(root, 'packages'))) {
    const [from, to] = [join(root, 'packages', name), join(directory, 'packages', name)]
    if (!copied.includes(name)) symlinkSync(from, to)
    else {
      const isTest = (path: string): boolean => /\.test\.(helper\.)?ts$|\/dist$/.test(path)
      cpSync(from, to, { recursive: true, filter: (path) => !isTest(path) })
      const config = JSON.parse(readFileSync(join(to, 'tsconfig.json'), 'utf8'))
      writeFileSync(join(to, 'tsconfig.json'), JSON.stringify({ ...config, references: [] }))
    }
  }
  mkdirSync(join(directory, 'node_modules', '@latchkey'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@latchkey') symlinkSync(join(root, 'node_modules', name), join(directory, 'node_modules', name))
  }
  for (const name of readdirSync(join(directory, 'packages'))) {
    symlinkSync(join(directory, 'packages', name), join(directory, 'node_modules', '@latchkey', name))
  }
  cpSync(join(root, 'tsconfig.base.json'), join(directory, 'tsconfig.base.json'))
}

/** Compiles these copies alone: the other packages are compiled already. */
function compile(directory: string, names: readonly string[]): string {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const run = (name: string): string =>
    spawnSync(process.execPath, [tsc, '-p', `packages/${name}`], { cwd: directory, encoding: 'utf8' }).stdout
  return names.map(run).join('')
}

/** Adds an entry at the end of the list in a file. */
function apply(directory: string, { file, code }: Edit): void {
  const path = join(directory, file)
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(/\n\}( satisfies Partial<Implementations>)?\n$/, `\n${code}}$1\n`),
  )
}

test('a new operation takes one edit in the description and one in the implementation', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-add-operation-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  copyPackages(directory)
  const [description, implementation, ...others] = edits()
  assert.deepEqual(others, [])
  apply(directory, description!)
  assert.match(compile(directory, copied), /Operations\.ts.*'GetClock' is missing/, 'without an implementation')
  apply(directory, implementation!)
  assert.ok(implementation!.file.startsWith('packages/kmd/'))
  assert.equal(compile(directory, ['kmd']), '')
  const { operations } = (await import(pathToFileURL(join(directory, 'packages/kmd/dist/api/Operations.js')).href)) as {
    operations: readonly { id: string; path: string; run: () => { at_ms: number } }[]
  }
  const added = operations.find(({ id }) => id === 'GetClock')!
  assert.equal(added.path, '/latchkey/v1/clock')
  assert.ok(added.run().at_ms > 0)
})
