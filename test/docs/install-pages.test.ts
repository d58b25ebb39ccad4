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

test('the pages say of macOS what the code does: untested, not impossible', () => {
  const title = read('packages/cli/src/dev/firstScreen.ts')
  assert.match(title, /made for Linux; untested on/)
  for (const path of [
    'README.md',
    'docs/install.md',
    'docs/daemon.md',
    'packages/cli/src/commands/service/install.ts',
  ]) {
    const text = read(path).replaceAll(/\s*\\?\n/g, ' ')
    assert.match(text, /macOS[^.]{0,80}(?:not supported|untested)/, path)
    assert.doesNotMatch(text, /does not run on macOS/, path)
  }
})

test('the console links to the address at which npm run docs:serve serves the site', () => {
  const [, port] = /given === -1 \? (\d+)/.exec(read('scripts/docs-site.mjs')) ?? []
  const url = `http://127.0.0.1:${port}`
  assert.ok(read('packages/pages/console/model/documentation.ts').includes(`'${url}/'`))
  for (const path of ['README.md', 'docs/README.md', 'site/README.md']) assert.ok(read(path).includes(url), path)
})

test('every warning about an agent of the same user names the command that separates the users', () => {
  const places = [
    'packages/pages/console/components/AgentState.tsx',
    'packages/kmd/src/process/agentParts.ts',
    'packages/cli/src/doctor/services.ts',
    'packages/cli/src/agents/describeAgent.ts',
  ]
  for (const path of places) {
    const text = read(path).replaceAll(/\s+/g, ' ')
    assert.match(text, /bypass every limit/, path)
    assert.ok(text.includes('sudo latchkey service install --system'), path)
    assert.doesNotMatch(text.replaceAll('service install --system', ''), /service install/, path)
  }
})

test('the first start names its steps and how long each took', () => {
  const text = read('scripts/setup.mjs')
  for (const step of ['step 1 of 2: installing packages', 'step 2 of 2: compiling'])
    assert.ok(text.includes(step), step)
  assert.match(text, /s so far/)
})
