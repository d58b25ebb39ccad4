import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleFile } from './console.js'

test('the page is there by its own path, and must be asked for anew', () => {
  const page = consoleFile('')
  assert.equal(page?.type, 'text/html; charset=utf-8')
  assert.equal(page?.isImmutable, false)
  assert.equal(consoleFile('index.html'), page)
})

test('everything that the page names is a file of its own, kept for ever', () => {
  const html = consoleFile('')!.body.toString()
  const names = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name!)
  assert.equal(names.length, 3)
  const types = names.map((name) => {
    assert.match(name, /^\.\/assets\/[\w-]+\.\w+$/)
    const file = consoleFile(name.slice(2))
    assert.ok(file?.isImmutable && file.body.length > 0)
    return file.type
  })
  assert.deepEqual(types.sort(), ['image/svg+xml', 'text/css; charset=utf-8', 'text/javascript; charset=utf-8'])
})

test('the page has nothing in it that its content security policy would refuse', () => {
  const html = consoleFile('')!.body.toString()
  assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
})

test('no path leads anywhere but to the files that were built', () => {
  const paths = ['..', '../console.js', 'assets', 'assets/', '/index.html', './index.html', 'assets/../index.html']
  for (const path of [...paths, 'INDEX.HTML', '%2e%2e/console.js', 'index.html\0', '__proto__', 'constructor']) {
    assert.equal(consoleFile(path), undefined, path)
  }
})
