/** Tests a program in a directory of this user, who represents root, with entries that belong to others. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Lstat, ReplaceableFiles, rootAlone, type Trust } from './replaceable.js'

const stranger = 54_321
const skip = process.platform === 'win32' ? 'there are no owners' : false

function setUp(t: TestContext) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'latchkey-replaceable-')))
  t.after(() => rmSync(base, { recursive: true, force: true }))
  chmodSync(base, 0o755)
  const at = (...names: string[]): string => join(base, ...names)
  const script = at('lib', 'node_modules', 'latchkey', 'bin', 'latchkey.js')
  const files: { [path: string]: string } = {
    [at('bin', 'node')]: '',
    [script]: '',
    [at('lib/node_modules/latchkey/package.json')]:
      '{"name":"latchkey","dependencies":{"near":"1","@scope/far":"1","absent":"1"}}',
    [at('lib/node_modules/latchkey/bin/package.json')]: '{"type":"commonjs"}',
    [at('lib/node_modules/latchkey/bundle/main.js')]: '',
    [at('lib/node_modules/latchkey/node_modules/near/package.json')]: '{"dependencies":{"deep":"1"}}',
    [at('lib/node_modules/@scope/far/package.json')]: '{}',
    [at('lib/node_modules/@scope/far/index.js')]: '',
    [at('lib/node_modules/deep/package.json')]: '{}',
    [at('lib/node_modules/deep/index.js')]: '',
    [at('lib/node_modules/unrelated/package.json')]: '{}',
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o755 })
    writeFileSync(path, text, { mode: 0o644 })
  }
  const owned = new Map<string, number>()
  // Directories above the temporary one may belong to anyone, so everything outside of it counts as root's.
  const lstat: Lstat = (path) => {
    const stats = lstatSync(path)
    const isBelow = path === base || path.startsWith(`${base}/`)
    const uid = owned.get(path) ?? 0
    const mode = isBelow ? stats.mode : stats.mode & ~0o1022
    return Object.assign(stats, { uid, mode, gid: 0 })
  }
  const find = (trust: Trust = rootAlone): string | undefined => {
    const files = new ReplaceableFiles(trust, lstat)
    const found = files.onPath(at('bin', 'node')) ?? files.ofPackage(script)
    return found === undefined ? undefined : `${found.path.slice(base.length)} ${found.reason}`
  }
  return { base, at, owned, find, lstat }
}

test('a program of root alone cannot be replaced', { skip }, (t) => {
  const { find, owned, at } = setUp(t)
  assert.equal(find(), undefined)
  // This package is not loaded.
  owned.set(at('lib/node_modules/unrelated'), stranger)
  assert.equal(find(), undefined)
})

test('everything that Node loads is found if it belongs to another user', { skip }, (t) => {
  const { find, owned, at, base } = setUp(t)
  const paths = [
    ...['', '/bin', '/bin/node', '/lib', '/lib/node_modules', '/lib/node_modules/latchkey'],
    ...['/bin/latchkey.js', '/package.json', '/bundle', '/bundle/main.js', '/node_modules', '/node_modules/near'].map(
      (path) => `/lib/node_modules/latchkey${path}`,
    ),
    ...['/@scope', '/@scope/far', '/@scope/far/index.js', '/deep/index.js'].map((path) => `/lib/node_modules${path}`),
  ]
  for (const path of paths) {
    owned.clear()
    owned.set(`${base}${path}`, stranger)
    assert.equal(find(), `${path} is owned by user ${stranger}`)
  }
  owned.clear()
  owned.set(at('lib'), stranger)
  assert.equal(find({ owners: new Set([0, stranger]), groups: new Set() }), undefined)
})

test('anything writable by others is found, including every parent directory', { skip }, (t) => {
  const { find, at } = setUp(t)
  for (const path of ['lib', 'bin/node', 'lib/node_modules/deep', 'lib/node_modules/latchkey/bundle/main.js']) {
    const { mode } = lstatSync(at(path))
    for (const [bits, reason] of [
      [0o020, 'is writable by group 0'],
      [0o002, 'is writable by every user'],
      [0o1002, 'is writable by every user'],
    ] as const) {
      chmodSync(at(path), mode | bits)
      assert.equal(find(), `/${path} ${reason}`)
    }
    chmodSync(at(path), mode)
  }
  chmodSync(at('lib'), 0o775)
  assert.equal(find({ owners: new Set([0]), groups: new Set([0]) }), undefined)
  chmodSync(at('lib'), 0o1777)
  assert.equal(find({ ...rootAlone, allowSticky: true }), undefined)
})

test('links are followed, and every directory on their path counts', { skip }, (t) => {
  const { find, at, owned, lstat } = setUp(t)
  mkdirSync(at('home', 'versions'), { recursive: true, mode: 0o755 })
  renameSync(at('bin', 'node'), at('home', 'versions', 'node'))
  symlinkSync('../home/versions/node', at('bin', 'node'))
  renameSync(at('lib/node_modules/@scope/far'), at('home', 'far'))
  symlinkSync(at('home', 'far'), at('lib/node_modules/@scope/far'))
  assert.equal(find(), undefined)
  for (const path of ['/bin/node', '/home', '/home/versions', '/home/far/index.js', '/lib/node_modules/@scope/far']) {
    owned.clear()
    owned.set(at(path), stranger)
    assert.equal(find(), `${path} is owned by user ${stranger}`)
  }
  symlinkSync('circle', at('bin', 'circle'))
  owned.clear()
  assert.match(new ReplaceableFiles(rootAlone, lstat).onPath(at('bin', 'circle'))!.reason, /circular/)
})

test('a directory closer than that of a package is found, because it could hold another package', { skip }, (t) => {
  const { find, at, owned } = setUp(t)
  mkdirSync(at('lib/node_modules/latchkey/node_modules/@scope'))
  owned.set(at('lib/node_modules/latchkey/node_modules/@scope'), stranger)
  assert.equal(find(), `/lib/node_modules/latchkey/node_modules/@scope is owned by user ${stranger}`)
})
