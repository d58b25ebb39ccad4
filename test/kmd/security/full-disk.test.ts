/**
 * Tests a data directory on a full file system: a small tmpfs in a mount namespace of this test, so nothing remains.
 * The file runs itself in that namespace.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Token } from '@latchkey/kmd'
import { startDaemon, type TestDaemon } from '../../support/daemon.test.helper.js'

const isInside = process.env['LATCHKEY_OWN_MOUNTS'] === '1'
const isPossible = isInside || spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

if (!isInside) {
  const skip = isPossible ? false : 'needs a mount namespace, for a file system of its own: unshare -rm mount'
  test('a daemon on a full disk', { skip }, () => {
    const env: NodeJS.ProcessEnv = { ...process.env, LATCHKEY_OWN_MOUNTS: '1' }
    delete env['NODE_TEST_CONTEXT']
    const file = fileURLToPath(import.meta.url)
    const { status, stdout } = spawnSync('unshare', ['-rm', process.execPath, file], {
      ...{ env, encoding: 'utf8', timeout: 120_000 },
    })
    assert.equal(status, 0, stdout)
  })
}

type Disk = { dir: string; fill: () => void; free: () => void }

function makeDisk(t: TestContext): Disk {
  const dir = mkdtempSync(join(tmpdir(), 'kmd-full-'))
  // The audit log takes about 4 MiB with its first record.
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', dir])
  t.after(() => {
    execFileSync('umount', ['-l', dir])
    rmSync(dir, { recursive: true })
  })
  chmodSync(dir, 0o700)
  const filler = join(dir, 'filler')
  const fill = (): void => {
    const descriptor = openSync(filler, 'a')
    assert.throws(() => {
      for (;;) writeSync(descriptor, Buffer.alloc(4096, 1))
    }, /ENOSPC/)
    closeSync(descriptor)
    // The last page of the log may have room for some lines.
    const log = openSync(join(dir, 'kmd.log'), 'a')
    assert.throws(() => {
      for (;;) writeSync(log, '.')
    }, /ENOSPC/)
    closeSync(log)
  }
  return { dir, fill, free: () => rmSync(filler) }
}

type Unlocked = { wallet_handle_token: string; wallet_password: string; address: string }

async function unlock(daemon: TestDaemon): Promise<Unlocked> {
  const password = { wallet_password: 'secret' }
  const created = await daemon.call('POST', '/v1/wallet', {
    ...{ wallet_name: 'w', wallet_driver_name: 'sqlite' },
    ...password,
  })
  const opened = await daemon.call('POST', '/v1/wallet/init', { wallet_id: created.json.wallet.id, ...password })
  const { wallet_handle_token } = opened.json
  const { address } = (await daemon.call('POST', '/v1/key', { wallet_handle_token })).json
  return { wallet_handle_token, ...password, address }
}

const health = async (daemon: TestDaemon, token = daemon.token) =>
  (await daemon.call('GET', '/latchkey/v1/health', undefined, { token })).json as {
    status: string
    lost_log_lines?: number
  }

if (isInside) {
  test('requests are answered, and lost log lines are counted, then reported once there is room', async (t) => {
    const disk = makeDisk(t)
    const daemon = await startDaemon({ dir: disk.dir })
    t.after(() => daemon.stop())
    const key = await unlock(daemon)
    assert.equal((await health(daemon)).lost_log_lines, undefined, 'the reference wire leaves out zeros')
    disk.fill()

    // The counts of wrong passwords cannot be saved, which is logged.
    const { wallets } = (await daemon.call('GET', '/v1/wallets')).json
    const wrong = { wallet_id: wallets[0].id, wallet_password: 'wrong' }
    for (let i = 0; i < 2; i++) {
      const { status, json } = await daemon.call('POST', '/v1/wallet/init', wrong)
      assert.deepEqual([status, json.message], [401, 'error decrypting. wrong password?'])
    }
    assert.equal((await daemon.call('POST', '/v1/key/export', key)).status, 200)
    const signed = await daemon.call('POST', '/v1/program/sign', { ...key, data: 'AQ==' })
    assert.equal(signed.status, 200)
    // A new key cannot be stored, and the response reports it.
    const { wallet_handle_token } = key
    const refused = await daemon.call('POST', '/v1/key', { wallet_handle_token })
    assert.deepEqual([refused.status, refused.json.error], [500, true], refused.text)
    assert.match(refused.json.message, /the disk is full; free some space/)

    const { lost_log_lines = 0, status } = await health(daemon)
    assert.ok(lost_log_lines >= 2, `${lost_log_lines} lines`)
    assert.equal(status, 'ok')
    const metrics = (await daemon.call('GET', '/latchkey/v1/metrics')).text
    // Log lines of requests are lost a moment later.
    const counted = Number(/^latchkey_lost_log_lines (\d+)$/m.exec(metrics)?.[1])
    assert.ok(counted >= lost_log_lines, `${counted} lines`)

    disk.free()
    await daemon.call('POST', '/v1/key', { wallet_handle_token })
    assert.equal(await daemon.stop(), 0)
    const log = readFileSync(join(disk.dir, 'kmd.log'), 'latin1')
    const reported = /\n.*level=error msg="(\d+) lines of this log could not be written since/.exec(log)
    assert.ok(Number(reported?.[1]) >= counted, log.slice(-2_000))
    assert.match(log, /: the disk is full"\n(?:time=.*\n)*time=.*Server closed"\n/, 'and the log goes on')
  })

  test('a failed token change on a full disk keeps the old token, and a successful one takes effect', async (t) => {
    const disk = makeDisk(t)
    const daemon = await startDaemon({ dir: disk.dir })
    t.after(() => daemon.stop())
    disk.fill()
    assert.throws(() => Token.rotate(disk.dir), /ENOSPC/)
    assert.equal(readFileSync(Token.path(disk.dir), 'latin1'), daemon.token)
    assert.equal((await daemon.call('GET', '/v1/wallets')).status, 200)

    // Replacing the old token leaves room for the new one.
    const token = 'b'.repeat(64)
    writeFileSync(Token.path(disk.dir), token)
    while ((await daemon.call('GET', '/v1/wallets', undefined, { token })).status !== 200) await setTimeout(20)
    assert.equal((await daemon.call('GET', '/v1/wallets')).status, 401)
    const lost = async (): Promise<number> => (await health(daemon, token)).lost_log_lines ?? 0
    while ((await lost()) === 0) await setTimeout(20)
    assert.equal(daemon.child.exitCode, null)
  })

  test('a token file that a full disk left empty has no effect', async (t) => {
    const disk = makeDisk(t)
    const daemon = await startDaemon({ dir: disk.dir })
    t.after(() => daemon.stop())
    writeFileSync(Token.path(disk.dir), '')
    disk.fill()
    // Longer than the interval at which the file is checked.
    await setTimeout(1_500)
    assert.equal((await daemon.call('GET', '/v1/wallets')).status, 200)
  })

  test('a daemon that cannot write its files does not start, reports why, and leaves no partial file', async (t) => {
    const disk = makeDisk(t)
    writeFileSync(join(disk.dir, 'kmd.log'), '')
    disk.fill()
    await assert.rejects(startDaemon({ dir: disk.dir, config: null, token: null }), /ENOSPC/)
    for (const file of ['kmd.token', 'kmd.token.new', 'kmd.net', 'kmd.pid']) {
      assert.throws(() => readFileSync(join(disk.dir, file)), /ENOENT/, file)
    }
  })
}
