import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { consoleFile } from './console.js'

test('the empty path and index.html are the page, which is not immutable', () => {
  const page = consoleFile('')
  assert.equal(page?.type, 'text/html; charset=utf-8')
  assert.equal(page?.isImmutable, false)
  assert.equal(consoleFile('index.html'), page)
})

const textOf = (path: string): string => Buffer.from(consoleFile(path)!.body).toString()

/** The files that the page itself refers to, which are loaded before the first screen. */
function firstFiles(): string[] {
  return [...textOf('').matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => {
    assert.match(name!, /^\.\/assets\/[\w-]+\.\w+$/)
    return name!.slice(2)
  })
}

/** The scripts that a script loads, immediately or later, from the same directory. */
function loadedBy(path: string): string[] {
  const names = [...textOf(path).matchAll(/["'`](?:\.\/|assets\/)([\w-]+\.js)["'`]/g)]
  return [...new Set(names.map(([, name]) => `assets/${name}`))]
}

test('everything that the page refers to is an immutable file', () => {
  const types = firstFiles().map((name) => {
    const file = consoleFile(name)
    assert.ok(file?.isImmutable && file.body.length > 0)
    return file.type
  })
  const expected = ['image/svg+xml', 'text/css; charset=utf-8', 'text/javascript; charset=utf-8']
  assert.deepEqual([...new Set(types)].sort(), expected)
})

test('every script that is loaded later is an immutable file with a hash in its name', () => {
  const found = new Set(firstFiles().filter((name) => name.endsWith('.js')))
  for (const path of found) for (const name of loadedBy(path)) found.add(name)
  assert.ok(found.size > firstFiles().length + 5, [...found].join())
  for (const path of found) {
    assert.match(path, /-[\w-]{8}\.js$/)
    const file = consoleFile(path)
    assert.deepEqual([file?.type, file?.isImmutable], ['text/javascript; charset=utf-8', true], path)
  }
})

test('the first screen takes less than 40 kB, without the word list, QR codes or signing', () => {
  const paths = ['', ...firstFiles()]
  const size = paths.map((path) => consoleFile(path)!.gzip().length).reduce((sum, bytes) => sum + bytes, 0)
  assert.ok(size < 40_000, `${size} bytes`)
  const text = paths.map(textOf).join('')
  for (const later of ['abandon', 'QR code', 'Write them on paper', 'Sign transactions'])
    assert.ok(!text.includes(later), later)
})

test('a file is compressed for clients that accept it', () => {
  const [name] = firstFiles().filter((path) => path.endsWith('.js'))
  const file = consoleFile(name!)!
  for (const accepted of ['gzip', 'deflate, gzip, br', 'br;q=1, GZIP;q=0.5', 'gzip;q=1.0']) {
    const { body, encoding } = file.bodyFor(accepted)
    assert.equal(encoding, 'gzip', accepted)
    assert.deepEqual(gunzipSync(body), file.body)
    assert.equal(body, file.gzip(), 'compressed once')
  }
  for (const accepted of [undefined, null, '', 'br', 'gzip;q=0', 'gzip; q=0.000, br', 'xgzip', 'identity']) {
    assert.deepEqual(file.bodyFor(accepted), { body: file.body, encoding: undefined }, String(accepted))
  }
})

test('the page has no inline script, style or event handler', () => {
  const html = Buffer.from(consoleFile('')!.body).toString()
  assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
})

test('other paths, including path traversal, are undefined', () => {
  const paths = ['..', '../console.js', 'assets', 'assets/', '/index.html', './index.html', 'assets/../index.html']
  for (const path of [...paths, 'INDEX.HTML', '%2e%2e/console.js', 'index.html\0', '__proto__', 'constructor']) {
    assert.equal(consoleFile(path), undefined, path)
  }
})
