/** Tests how the daemon stops: by signals, whatever its connections are doing, and after the idle timeout. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { kmdCommand } from '../support/daemon.test.helper.js'
import {
  atEnd,
  dataDirectory,
  dial,
  holdDatabase,
  type Kmd,
  sleep,
  start,
  startHosted,
  statusOf,
  timed,
  until,
} from './commands.test.helper.js'

/** Less than the ten seconds after which requests are cut off. */
const promptMs = 9_500

const timerSlackMs = 20

suite('signals', { concurrency: 3 }, () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`${signal} ends it with exit code 0`, async (t) => {
      const kmd = await start(t)
      assert.equal(await kmd.stop(signal), 0)
      assert.equal(existsSync(kmd.path('kmd.net')), false)
      assert.match(kmd.log(), /kmd server died\. exiting\.\.\./)
    })
  }

  test('idle keep-alive connections do not delay it', async (t) => {
    const kmd = await start(t)
    const lines = await Promise.all(Array.from({ length: 5 }, () => dial(t, kmd.port)))
    for (const { socket } of lines) socket.write(`GET /versions HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    await until('five answers', () => lines.every(({ received }) => statusOf(received()) === 200))
    assert.ok(lines.every(({ socket }) => !socket.destroyed))
    const { result, elapsedMs } = await timed(kmd.stop())
    assert.equal(result, 0)
    assert.ok(elapsedMs < promptMs, `took ${elapsedMs} ms`)
    await Promise.all(lines.map(({ closed }) => closed))
  })

  test('connections without a request do not delay it', async (t) => {
    const kmd = await start(t)
    await dial(t, kmd.port)
    // Lets the daemon accept the connection.
    await kmd.ok('GET', '/versions')
    const { result, elapsedMs } = await timed(kmd.stop())
    assert.equal(result, 0)
    assert.ok(elapsedMs < promptMs, `took ${elapsedMs} ms`)
  })

  test('a request in progress is finished and answered, and new ones are rejected', async (t) => {
    const kmd = await startHosted(t)
    const id = await kmd.create('held', 'pw')
    const release = await holdDatabase(t, kmd.walletPath(`held.${id}.db`))
    const answered = kmd.tryUnlock(id, 'pw')
    await hasArrived(kmd)
    kmd.signal('SIGTERM')
    await portClosed(kmd)
    await release()
    const { status, json, headers } = await answered
    assert.equal(status, 200)
    assert.match(json.wallet_handle_token, /^[0-9a-f]{16}\.[0-9a-f]{64}$/)
    assert.equal(headers.connection, 'close')
    assert.equal(await kmd.exited, 0)
  })

  test('a response in progress is sent in full', async (t) => {
    const kmd = await startHosted(t)
    const { socket, received, closed } = await dial(t, kmd.port)
    // More than fits in the system's buffers, to a peer that reads late.
    socket.once('data', () => socket.pause())
    socket.write('GET /swagger.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(400))
    await until('the beginning of a response', () => received() !== '')
    kmd.signal('SIGTERM')
    await portClosed(kmd)
    socket.resume()
    await closed
    const responses = received().split(/(?=HTTP\/1\.1 200 OK\r\n)/)
    assert.ok(responses.length > 1, 'nothing came')
    const [first, last] = [responses[0]!, responses.at(-1)!].map((response) =>
      response.slice(response.indexOf('\r\n\r\n')),
    )
    assert.equal(last!.length, first!.length, 'the last answer is cut off')
    assert.equal(await kmd.exited, 0)
  })

  test('a signal during the start causes a graceful stop', async (t) => {
    for (const signals of [['SIGTERM'], ['SIGHUP', 'SIGINT']] as const) {
      const dataDir = dataDirectory(t)
      const child = spawn(kmdCommand, ['-d', dataDir], { stdio: 'ignore' })
      const exited = once(child, 'close')
      atEnd(t, () => child.kill('SIGKILL'))
      // The lock is taken halfway through the start.
      await until('the lock', () => existsSync(join(dataDir, 'kmd.lock')))
      for (const signal of signals) child.kill(signal)
      assert.deepEqual(await exited, [0, null], signals.join())
      for (const name of ['kmd.net', 'kmd.pid']) assert.equal(existsSync(join(dataDir, name)), false, name)
    }
  })

  test('a second signal changes nothing', async (t) => {
    const kmd = await startHosted(t)
    const id = await kmd.create('held', 'pw')
    const release = await holdDatabase(t, kmd.walletPath(`held.${id}.db`))
    const answered = kmd.tryUnlock(id, 'pw')
    await hasArrived(kmd)
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGTERM'] as const) kmd.signal(signal)
    await portClosed(kmd)
    await release()
    assert.equal((await answered).status, 200)
    assert.equal(await kmd.exited, 0)
  })

  test('SIGHUP is ignored', async (t) => {
    const kmd = await startHosted(t)
    for (let i = 0; i < 3; i++) kmd.signal('SIGHUP')
    await sleep(200)
    assert.equal((await kmd.call('GET', '/v1/wallets')).status, 200)
    assert.equal(await kmd.stop(), 0)
  })
})

suite('idle timeout', { concurrency: 6 }, () => {
  test('stops the daemon gracefully after the time', async (t) => {
    const startedAt = performance.now()
    const kmd = await start(t, { args: ['-t', '1'] })
    assert.equal(await kmd.exited, 0)
    assert.ok(performance.now() - startedAt >= 1_000, 'before its time')
    assert.match(kmd.log(), /killing kmd after timeout/)
    assert.equal(existsSync(kmd.path('kmd.pid')), false)
  })

  test('0 means never', async (t) => {
    const kmd = await startHosted(t, { args: ['-t', '0'] })
    await sleep(1_500)
    assert.equal((await kmd.call('GET', '/v1/wallets')).status, 200)
  })

  const restarting: [title: string, use: (kmd: Kmd) => Promise<number>, status: number][] = [
    ['a request of /v1', async (kmd) => (await kmd.call('GET', '/v1/wallets')).status, 200],
    ['one that fails with 400', async (kmd) => (await kmd.call('POST', '/v1/wallet', '{')).status, 400],
    ['one that fails with 401 for its handle', async (kmd) => (await kmd.call('POST', '/v1/key', {})).status, 401],
  ]
  for (const [title, use, status] of restarting) {
    test(`is restarted by ${title}`, async (t) => {
      const kmd = await startHosted(t, { args: ['-t', '3'] })
      const lastUsedAt = await useFor(kmd, 4_500, async () => assert.equal(await use(kmd), status))
      // The daemon was used, so it runs well beyond three seconds and exits three seconds after the last use.
      assert.equal(await kmd.exited, 0)
      const elapsedMs = performance.now() - lastUsedAt
      assert.ok(elapsedMs >= 3_000 - timerSlackMs, `only ${elapsedMs} ms after its last use`)
    })
  }

  const ignored: [title: string, use: (kmd: Kmd) => Promise<unknown>][] = [
    ['/versions', (kmd) => kmd.call('GET', '/versions')],
    ['/swagger.json', (kmd) => kmd.call('GET', '/swagger.json')],
    ['OPTIONS', (kmd) => kmd.call('OPTIONS', '/v1/wallets')],
    ['a path that is none', (kmd) => kmd.call('GET', '/v1/nope')],
    ['a method that is none', (kmd) => kmd.call('PUT', '/v1/wallets')],
    ['a wrong token', (kmd) => kmd.call('GET', '/v1/wallets', undefined, { token: 'x'.repeat(64) })],
    ['a foreign host', (kmd) => kmd.call('GET', '/v1/wallets', undefined, { headers: { Host: 'example.com' } })],
  ]
  test(`is not restarted by ${ignored.map(([title]) => title).join(', ')}`, async (t) => {
    const kmd = await startHosted(t, { args: ['-t', '3'] })
    const giveUpAt = performance.now() + 60_000
    let calls = 0
    let isOver = false
    const ended = kmd.exited.then(() => {
      isOver = true
    })
    while (!isOver && performance.now() < giveUpAt) {
      for (const [, use] of ignored)
        await use(kmd)
          .then(() => calls++)
          .catch(() => {})
      await sleep(50)
    }
    assert.ok(isOver, 'still runs')
    await ended
    assert.ok(calls >= ignored.length, 'no request was sent in time')
  })
})

/** The daemon reads requests in order: once these are answered, everything sent before has arrived. */
async function hasArrived(kmd: Kmd): Promise<void> {
  for (let request = 1; request <= 3; request++) await kmd.ok('GET', '/versions')
}

async function portClosed(kmd: Kmd): Promise<void> {
  await until('the port to be closed', () =>
    kmd.call('GET', '/versions').then(
      () => false,
      () => true,
    ),
  )
}

/** Uses the daemon repeatedly; returns when the last use began. */
async function useFor(kmd: Kmd, ms: number, use: () => Promise<void>): Promise<number> {
  const endAt = performance.now() + ms
  let lastUsedAt = 0
  while (performance.now() < endAt) {
    lastUsedAt = performance.now()
    await use()
    await sleep(200)
  }
  assert.equal(existsSync(kmd.path('kmd.pid')), true)
  return lastUsedAt
}
