/** Checks that no source file imports itself through any chain of imports. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { importsOf, isTest, root, sources } from './sources.test.helper.js'

const files = ['packages', 'examples', 'bench'].flatMap(sources).filter((file) => !isTest(file))

/** Returns the source file of a relative import. */
function targetOf(file: string, path: string): string | undefined {
  const plain = join(file, '..', path).replace(/\.js$/, '')
  return [`${plain}.ts`, `${plain}.tsx`, plain].find((one) => /\.tsx?$/.test(one) && existsSync(join(root, one)))
}

const graph = new Map(
  files.map((file) => [
    file,
    importsOf(file)
      .filter((path) => path.startsWith('.'))
      .map((path) => targetOf(file, path))
      .filter((target) => target !== undefined),
  ]),
)

/** Returns the files of the first cycle in depth-first order. */
function findCircle(edges: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return undefined
    path.push(file)
    for (const next of edges.get(file) ?? []) {
      const circle = visit(next)
      if (circle !== undefined) return circle
    }
    path.pop()
    done.add(file)
    return undefined
  }
  for (const file of edges.keys()) {
    const circle = visit(file)
    if (circle !== undefined) return circle
  }
  return undefined
}

test('finds a cycle', () => {
  const edges = new Map([
    ['a', ['b']],
    ['b', ['c']],
    ['c', ['b']],
  ])
  assert.deepEqual(findCircle(edges), ['b', 'c', 'b'])
})

test('imports among source files form no cycle, including type imports', () => {
  assert.ok(files.length > 300)
  assert.deepEqual(findCircle(graph)?.join('\n  imports ') ?? '', '')
})
