/** The pages say what can be installed today: one setting in scripts/published.mjs decides, and this test holds it. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from '../support/daemon.test.helper.js'

type Published = {
  isPublished: boolean
  notes: { [path: string]: (published: boolean) => string }
  commands: { pack: string; libraries: string; command: string }
  filled: (path: string, text: string, published?: boolean) => string
}

const { isPublished, notes, commands, filled } = (await import(
  pathToFileURL(join(root, 'scripts', 'published.mjs')).href
)) as Published

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

test('every page has the note of the current setting', () => {
  for (const path of Object.keys(notes)) {
    assert.equal(read(path), filled(path, read(path)), `${path}: run node scripts/published.mjs`)
  }
})

test('every page for an empty folder has a note', () => {
  const pages = readdirSync(join(root, 'docs', 'start')).filter((name) => name.endsWith('.md'))
  for (const page of pages) assert.ok(Object.hasOwn(notes, `docs/start/${page}`), page)
})

test('the setting changes every page, and back', () => {
  for (const path of Object.keys(notes)) {
    const before = filled(path, read(path), false)
    const after = filled(path, before, true)
    assert.match(before, /not on npm yet/, path)
    assert.doesNotMatch(after, /not on npm yet|dist-packages\/all/, path)
    assert.equal(filled(path, after, false), before, path)
  }
})

test('until the release, the pages name the commands that work, and that Latchkey runs on Linux', () => {
  for (const path of ['README.md', 'docs/install.md']) {
    const text = read(path).replaceAll('\n', ' ')
    assert.match(text, /runs on Linux/)
    if (isPublished) continue
    for (const command of Object.values(commands)) assert.ok(text.includes(command), `${path}: ${command}`)
  }
})
