import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleFile } from './console.js'

test('the empty path and index.html are the page, which is not immutable', () => {
  const page = consoleFile('')
  assert.equal(page?.type, 'text/html; charset=utf-8')
  assert.equal(page?.isImmutable, false)
  assert.equal(consoleFile('index.html'), page)
})

test('everything that the page refers to is an immutable file', () => {
  const html = Buffer.from(consoleFile('')!.body).toString()
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

test('the page has no inline script, style or event handler', () => {
  const html = Buffer.from(consoleFile('')!.body).toString()
  assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
})

test('other paths, also with traversal, are undefined', () => {
  const paths = ['..', '../console.js', 'assets', 'assets/', '/index.html', './index.html', 'assets/../index.html']
  for (const path of [...paths, 'INDEX.HTML', '%2e%2e/console.js', 'index.html\0', '__proto__', 'constructor']) {
    assert.equal(consoleFile(path), undefined, path)
  }
})
