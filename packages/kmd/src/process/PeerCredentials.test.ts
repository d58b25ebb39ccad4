/** Many connections whose users are queried at the same time. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AskUsers, isSupported, PeerCredentials } from './PeerCredentials.js'

const skip = process.platform === 'linux' ? false : 'only Linux tells'

/** Both ends of connections to a Unix socket, by the descriptors of this end. */
async function connections(t: TestContext, count: number): Promise<{ descriptor: number; socket: Socket }[]> {
  const directory = mkdtempSync(join(tmpdir(), 'kmd-peers-'))
  const path = join(directory, 'socket')
  const server = createServer({ pauseOnConnect: true }).listen(path)
  await once(server, 'listening')
  const accepted: Socket[] = []
  const all = new Promise<void>((resolve) => {
    server.on('connection', (socket) => {
      if (accepted.push(socket) === count) resolve()
    })
  })
  const clients = Array.from({ length: count }, () => connect(path))
  t.after(() => {
    for (const socket of [...clients, ...accepted]) socket.destroy()
    server.close()
    rmSync(directory, { recursive: true, force: true })
  })
  await all
  return accepted.map((socket) => ({
    socket,
    descriptor: (socket as unknown as { _handle: { fd: number } })._handle.fd,
  }))
}

test('the users of a hundred connections are queried at once, by a few processes', { skip }, async (t) => {
  if (!isSupported()) {
    t.skip('neither perl nor python3 is installed')
    return
  }
  const all = await connections(t, 100)
  const credentials = new PeerCredentials()
  const users = await Promise.all(all.map(({ descriptor }) => credentials.userOf(descriptor)))
  assert.deepEqual(users, Array(100).fill(process.getuid?.()))
})

/** Responds when the test decides. The user is the number of the descriptor. */
function controlled() {
  const clock = { nowMs: 0 }
  const asked: (readonly number[])[] = []
  const answers: (() => void)[] = []
  const ask: AskUsers = (descriptors) => {
    asked.push(descriptors)
    return new Promise((resolve) => answers.push(() => resolve(descriptors)))
  }
  const credentials = new PeerCredentials({ ask, now: () => clock.nowMs })
  return { asked, answer: () => answers.shift()?.(), credentials, clock }
}

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('an urgent connection does not wait for others, which are queried together', { skip }, async (t) => {
  const all = await connections(t, 40)
  const { asked, answer, credentials, clock } = controlled()
  // The first one is queried alone, because it was alone. The others wait for its process.
  const users = all.slice(0, 39).map(({ descriptor }) => credentials.userOf(descriptor))
  clock.nowMs += 20
  assert.deepEqual(
    asked.map(({ length }) => length),
    [1],
  )
  const urgent = credentials.userOf(all[39]!.descriptor, { isUrgent: true })
  assert.equal(asked.length, 2, 'a second process is reserved for it')
  assert.equal(asked[1]![0], all[39]!.descriptor)
  const late = credentials.userOf(all[0]!.descriptor)
  clock.nowMs += 20
  answer()
  answer()
  await until(() => asked.length === 3)
  answer()
  assert.equal(await urgent, all[39]!.descriptor)
  assert.equal(await late, all[0]!.descriptor)
  assert.deepEqual(
    await Promise.all(users),
    all.slice(0, 39).map(({ descriptor }) => descriptor),
  )
})

test('a connection closed before its turn has no user, and a failure of the program leaves none', {
  skip,
}, async (t) => {
  const all = await connections(t, 3)
  const { asked, answer, credentials, clock } = controlled()
  const first = credentials.userOf(all[0]!.descriptor)
  const closed = credentials.userOf(all[1]!.descriptor)
  all[1]!.socket.destroy()
  await once(all[1]!.socket, 'close')
  clock.nowMs += 20
  answer()
  assert.equal(await first, all[0]!.descriptor)
  assert.equal(await closed, undefined)
  assert.equal(asked.length, 1)
  const failing = new PeerCredentials({ ask: () => Promise.reject(new Error('no process')) })
  assert.equal(await failing.userOf(all[2]!.descriptor), undefined)
  assert.equal(await failing.userOf(all[2]!.descriptor), undefined, 'and the next is asked about')
})
