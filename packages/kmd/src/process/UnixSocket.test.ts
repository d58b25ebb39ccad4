import assert from 'node:assert/strict'
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Server } from '@latchkey/http'
import * as UnixSocket from './UnixSocket.js'

const skip = process.platform === 'win32' ? 'there are no Unix sockets' : false

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'kmd-unix-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function listen(t: TestContext, settings: UnixSocket.UnixSocketSettings): Promise<Server> {
  const server = new Server({ handle: () => ({ status: 200, headers: [], body: 'here' }) })
  t.after(() => server.stop(0))
  await UnixSocket.listen(server, settings)
  return server
}

const modeOf = (path: string): number => lstatSync(path).mode & 0o777

test("the socket is only for the daemon's user, and is removed after the stop", { skip }, async (t) => {
  const path = join(directoryOf(t), 'kmd.sock')
  const before = process.umask(0)
  t.after(() => process.umask(before))
  const server = await listen(t, { path })
  assert.equal(modeOf(path), 0o600)
  assert.equal(process.umask(), 0, 'the umask is as it was')
  await server.stop(0)
  assert.equal(existsSync(path), false)
})

test('with a group, its members may connect', { skip }, async (t) => {
  const path = join(directoryOf(t), 'kmd.sock')
  await listen(t, { path, group: String(process.getgid?.()) })
  assert.equal(modeOf(path), 0o660)
  assert.equal(lstatSync(path).gid, process.getgid?.())
  await assert.rejects(listen(t, { path: join(directoryOf(t), 'x'), group: 'no such group' }), { code: 'unix_socket' })
})

test('with a list of users, the kernel admits them instead of the group', {
  skip: process.platform === 'linux' ? false : 'only Linux has these lists',
}, async (t) => {
  const group = String(process.getgid?.())
  const server = new Server({ handle: () => ({ status: 200, headers: [], body: 'here' }) })
  t.after(() => server.stop(0))
  const path = join(directoryOf(t), 'kmd.sock')
  const admitted = await UnixSocket.listen(server, { path, group, users: [54_322, 54_321, 54_322] })
  // A file system without such lists leaves the group in.
  assert.ok(admitted === 'users' || admitted === 'group')
  assert.equal(modeOf(path), 0o660)
  const other = new Server({ handle: () => ({ status: 200, headers: [], body: 'here' }) })
  t.after(() => other.stop(0))
  const settings = { path: join(directoryOf(t), 'kmd.sock'), group, users: [0], restrict: async () => false }
  assert.equal(await UnixSocket.listen(other, settings), 'group')
  assert.equal(modeOf(settings.path), 0o660)
})

test('a socket left behind by a killed daemon is removed, and nothing else', { skip }, async (t) => {
  const directory = directoryOf(t)
  const path = join(directory, 'kmd.sock')
  const left = createServer().listen(path)
  await new Promise((resolve) => left.once('listening', resolve))
  await assert.rejects(listen(t, { path }), { code: 'unix_socket', message: /another program listens/ })
  // Like after a kill: the file remains, and nothing listens.
  const { rename } = await import('node:fs/promises')
  await rename(path, `${path}.kept`)
  await new Promise((resolve) => left.close(resolve))
  await rename(`${path}.kept`, path)
  await listen(t, { path })
  const file = join(directory, 'file')
  writeFileSync(file, 'precious')
  await assert.rejects(listen(t, { path: file }), { code: 'unix_socket', message: /is not a socket/ })
  const link = join(directory, 'link')
  symlinkSync(file, link)
  await assert.rejects(listen(t, { path: link }), { code: 'unix_socket', message: /is not a socket/ })
  assert.ok(existsSync(file) && existsSync(link))
})

test('a directory that others can write to, or one below such a directory, is rejected', { skip }, async (t) => {
  const directory = directoryOf(t)
  const inner = join(directory, 'inner')
  mkdirSync(inner, { mode: 0o700 })
  for (const mode of [0o777, 0o770, 0o1777]) {
    chmodSync(inner, mode)
    await assert.rejects(listen(t, { path: join(inner, 'kmd.sock') }), { message: /other users can write to/ })
  }
  chmodSync(inner, 0o755)
  chmodSync(directory, 0o777)
  await assert.rejects(listen(t, { path: join(inner, 'kmd.sock') }), { message: /other users can write to/ })
  chmodSync(directory, 0o1777)
  const link = join(directory, 'link')
  symlinkSync(inner, link)
  await listen(t, { path: join(link, 'kmd.sock') })
  assert.ok(existsSync(join(inner, 'kmd.sock')))
})

test('an invalid path is rejected before anything is created', { skip }, async (t) => {
  const directory = directoryOf(t)
  for (const path of [
    'kmd.sock',
    join(directory, 'x'.repeat(108)),
    join(directory, 'a\0b'),
    join(directory, 'no', 'kmd.sock'),
  ]) {
    await assert.rejects(listen(t, { path }), { name: 'StartError', code: 'unix_socket' }, path)
  }
})
