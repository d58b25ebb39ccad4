import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  makeDataDir,
  type Running,
  readState,
  removeDataDir,
  serve,
  startOurs,
  targets,
} from './daemons.test.helper.js'
import { Kmd, KmdClientError } from './index.js'

for (const target of targets) {
  test(`restart: ${target.name}`, async (t) => {
    let dataDir: string
    let daemon: Running
    const { client } = target
    const stop = async (): Promise<void> => {
      await daemon.stop()
      daemon = { stop: async () => {} }
    }

    t.beforeEach(async () => {
      dataDir = makeDataDir()
      daemon = await target.start(dataDir)
    })

    t.afterEach(async () => {
      await daemon.stop()
      removeDataDir(dataDir)
    })

    await t.test('a daemon restarted on another port is found again, and its wallets are unlocked', async () => {
      const kmd = await Kmd.connect({ dataDir, ...client })
      await kmd.wallets.create({ name: 'w', password: 'p' })
      const wallet = await kmd.unlock({ name: 'w', password: () => 'p' })
      const address = await wallet.generateKey()
      const before = kmd.address
      await stop()
      daemon = await target.start(dataDir)
      assert.deepEqual(await Promise.all([wallet.keys(), wallet.keys(), kmd.versions()]), [
        [address],
        [address],
        ['v1'],
      ])
      assert.equal(kmd.address, readState(dataDir).address)
      assert.notEqual(kmd.address, before)
      assert.equal((await wallet.exportKey(address)).length, 64)
    })

    await t.test('a daemon restarted on the same port is reached despite stale connections', async () => {
      const kmd = await Kmd.connect({ dataDir, ...client })
      await kmd.wallets.create({ name: 'w', password: '' })
      const wallet = await kmd.unlock({ name: 'w' })
      const config = JSON.parse(readFileSync(join(dataDir, 'kmd_config.json'), 'utf8'))
      writeFileSync(join(dataDir, 'kmd_config.json'), JSON.stringify({ ...config, address: kmd.address }))
      for (let round = 0; round < 3; round++) {
        await stop()
        daemon = await target.start(dataDir)
        // `fetch` opens no new connection on demand: a repeatable call replaces the stale one.
        if (client.fetch !== undefined) await kmd.versions()
        await wallet.generateKey()
        assert.equal((await wallet.keys()).length, round + 1)
      }
    })

    await t.test('the error for a daemon that is not running has its address and a hint', async () => {
      const kmd = await Kmd.connect({ dataDir, ...client })
      const wallet = await unlockBlank(kmd)
      await stop()
      await assert.rejects(kmd.wallets.list(), (error: KmdClientError) => {
        assert.ok(error instanceof KmdClientError)
        assert.equal(error.code, 'daemon_not_running')
        assert.equal(error.status, undefined)
        assert.equal(error.message, `no key daemon responds at ${kmd.address} (ECONNREFUSED)`)
        assert.equal(
          error.hint,
          `start the daemon: the one that wrote kmd.net in ${dataDir} has ended; nothing was sent`,
        )
        return true
      })
      // Its handles ended with it.
      await wallet.release()
      await assert.rejects(Kmd.connect({ dataDir, ...client }), {
        code: 'daemon_not_running',
        message: `no key daemon is running in ${dataDir}: kmd.net does not exist. Start one, or check the directory`,
      })
    })

    await t.test('without a data directory, a moved daemon is not searched for', async () => {
      const kmd = await Kmd.connect({ ...readState(dataDir), ...client })
      assert.deepEqual(await kmd.versions(), ['v1'])
      await stop()
      daemon = await target.start(dataDir)
      await assert.rejects(kmd.wallets.list(), {
        message: /^no key daemon responds at \S+ \(ECONNREFUSED\)$/,
        hint: 'start the daemon, or check the address; nothing was sent',
      })
    })
  })
}

async function unlockBlank(kmd: Kmd) {
  await kmd.wallets.create({ name: 'blank', password: '' })
  return kmd.unlock({ name: 'blank' })
}

test('a rotated token is read again', async (t) => {
  const dataDir = makeDataDir()
  const daemon = await startOurs(dataDir)
  t.after(async () => {
    await daemon.stop()
    removeDataDir(dataDir)
  })
  const kmd = await Kmd.connect({ dataDir })
  const old = await Kmd.connect(readState(dataDir))
  const wallet = await unlockBlank(kmd)
  writeFileSync(join(dataDir, 'kmd.token'), `${'b'.repeat(64)}\n`)
  for (;;) {
    const refused = await old.wallets.list().then(
      () => undefined,
      (error: KmdClientError) => error,
    )
    if (refused !== undefined) {
      assert.equal(refused.status, 401)
      assert.equal(refused.message, 'invalid API token')
      break
    }
    await sleep(20)
  }
  const results = await Promise.all([wallet.generateKey(), wallet.keys(), kmd.wallets.list()])
  assert.equal(results.length, 3)
  // The daemon does not accept a token that is too short, so the previous one stays valid.
  writeFileSync(join(dataDir, 'kmd.token'), 'c'.repeat(20))
  await assert.doesNotReject(kmd.wallets.list())
})

test('a wrong token is sent once if the file has no other', async (t) => {
  let requests = 0
  const server = await serve((_, outgoing) => {
    requests++
    outgoing.writeHead(401).end('{"error":true,"message":"invalid API token"}')
  })
  const dataDir = makeDataDir()
  t.after(async () => {
    await server.close()
    removeDataDir(dataDir)
  })
  writeFileSync(join(dataDir, 'kmd.net'), server.address)
  writeFileSync(join(dataDir, 'kmd.token'), 'a'.repeat(64))
  const kmd = await Kmd.connect({ dataDir })
  await assert.rejects(kmd.wallets.list(), { status: 401, message: 'invalid API token' })
  assert.equal(requests, 1)
  writeFileSync(join(dataDir, 'kmd.token'), 'b'.repeat(64))
  await assert.rejects(kmd.wallets.list(), { status: 401, message: 'invalid API token' })
  assert.equal(requests, 3)
})

test('the error names the empty or missing file', async (t) => {
  const dataDir = makeDataDir()
  t.after(() => removeDataDir(dataDir))
  writeFileSync(join(dataDir, 'kmd.net'), '')
  writeFileSync(join(dataDir, 'kmd.token'), 'a'.repeat(64))
  await assert.rejects(Kmd.connect({ dataDir }), {
    code: 'data_directory_unreadable',
    message: /^kmd.net in .* is empty/,
  })
  writeFileSync(join(dataDir, 'kmd.net'), '127.0.0.1:1\nsecond line\n')
  assert.equal((await Kmd.connect({ dataDir })).address, '127.0.0.1:1')
  rmSync(join(dataDir, 'kmd.token'))
  await assert.rejects(Kmd.connect({ dataDir }), {
    code: 'daemon_not_running',
    message: /: kmd.token does not exist/,
  })
})

for (const address of ['0.0.0.0:0', '[::]:0', ':0']) {
  test(`a daemon that listens on ${address} is reached on this machine`, async (t) => {
    const dataDir = makeDataDir({ address })
    t.after(() => removeDataDir(dataDir))
    const daemon = await startOurs(dataDir)
    t.after(() => daemon.stop())
    const kmd = await Kmd.connect({ dataDir })
    assert.match(kmd.address, /^127\.0\.0\.1:[0-9]+$/)
    assert.deepEqual(await kmd.wallets.list(), [])
  })
}
