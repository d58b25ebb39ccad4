/** Every `@example` in the TSDoc of the packages compiles, and expressions have the values that their comments show. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { root } from '../structure/sources.test.helper.js'
import { compiledPath, type Example, moduleOf, shownValues, tsdocExamples } from './Tsdoc.test.helper.js'

const examples = tsdocExamples()
const nameOf = ({ file, line }: Example): string => `${file}:${line}`

test('examples compile, all in one program', (t) => {
  assert.ok(examples.length > 70, `found ${examples.length}`)
  // Below the compiled tests, so packages resolve.
  const directory = fileURLToPath(new URL(`./tsdoc-${process.pid}/`, import.meta.url))
  mkdirSync(directory)
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const settings = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      composite: false,
      incremental: false,
      declaration: false,
      noEmit: true,
      noUnusedLocals: false,
      noUnusedParameters: false,
      noImplicitReturns: false,
    },
    include: ['*.ts'],
  }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(settings))
  for (const [index, example] of examples.entries()) {
    writeFileSync(join(directory, `example${index}.ts`), moduleOf(example, directory))
  }
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', directory, '--pretty', 'false'], { encoding: 'utf8' })
  assert.equal(
    stdout.replaceAll(/\S*example(\d+)\.ts/g, (_, index: string) => nameOf(examples[Number(index)]!)),
    '',
  )
})

test('expressions have the values that examples show', async () => {
  let checked = 0
  for (const example of examples) {
    for (const { expression, value } of shownValues(example)) {
      const module = (await import(pathToFileURL(compiledPath(example)).href)) as { [name: string]: unknown }
      const scope: { [name: string]: unknown } = { ...module, [basename(example.file, '.ts')]: module }
      const names = Object.keys(scope).filter((name) => expression.startsWith(name))
      const evaluate = (code: string): unknown =>
        new Function(...names, `return (${code})`)(...names.map((name) => scope[name]))
      assert.deepEqual(evaluate(expression), evaluate(value), `${nameOf(example)}: ${expression}`)
      checked++
    }
  }
  assert.ok(checked > 12, `checked ${checked}`)
})
