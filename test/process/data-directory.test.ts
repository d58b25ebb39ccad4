/** Tests the files of a data directory: which are written, with which modes, which are read, and which remain. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import {
  dataDirectory,
  type Kmd,
  start,
  startHosted,
  startInProcess,
  temporaryDirectory,
  until,
} from './commands.test.helper.js'

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const concurrency = 2

suite('files and modes', { concurrency }, () => {
  for (const [umask, expected] of [
    [0o000, { token: '600', net: '640', pid: '640', log: '640', lock: '600', wallets: '700', wallet: '600' }],
    [0o022, { token: '600', net: '640', pid: '640', log: '640', lock: '600', wallets: '700', wallet: '600' }],
    [0o077, { token: '600', net: '600', pid: '600', log: '600', lock: '600', wallets: '700', wallet: '600' }],
  ] as const) {
    test(`with umask ${umask.toString(8).padStart(3, '0')}`, async (t) => {
      const kmd = await start(t, { umask })
      await kmd.create('w', 'pw')
      const [wallet] = readdirSync(kmd.walletPath())
      const found = {
        token: modeOf(kmd.path('kmd.token')),
        net: modeOf(kmd.path('kmd.net')),
        pid: modeOf(kmd.path('kmd.pid')),
        log: modeOf(kmd.path('kmd.log')),
        lock: modeOf(kmd.path('kmd.lock')),
        wallets: modeOf(kmd.walletPath()),
        wallet: modeOf(kmd.walletPath(wallet!)),
      }
      assert.deepEqual(found, expected)
    })
  }

  test('kmd.net is host:port and kmd.pid the process id, neither with a newline', async (t) => {
    const kmd = await startInProcess(t)
    assert.match(readFileSync(kmd.path('kmd.net'), 'utf8'), /^127\.0\.0\.1:[1-9][0-9]*$/)
    assert.equal(readFileSync(kmd.path('kmd.pid'), 'utf8'), String(kmd.pid))
    assert.equal(readFileSync(kmd.path('kmd.lock'), 'utf8'), '')
  })

  test('a generated token is 64 hexadecimal digits without a newline, and survives a restart', async (t) => {
    const first = await startHosted(t)
    const token = readFileSync(first.path('kmd.token'), 'utf8')
    assert.match(token, /^[0-9a-f]{64}$/)
    await first.stop()
    const second = await startHosted(t, { dataDir: first.dataDir })
    assert.equal(readFileSync(second.path('kmd.token'), 'utf8'), token)
    assert.equal((await second.call('GET', '/v1/wallets')).status, 200)
    const other = await startHosted(t)
    assert.notEqual(other.token, token)
  })

  test('accepts a directory that others can read', async (t) => {
    const dataDir = temporaryDirectory(t)
    mkdirSync(join(dataDir, 'open'), { mode: 0o755 })
    writeFileSync(join(dataDir, 'open', 'kmd_config.json'), '{"address":"127.0.0.1:0"}')
    const kmd = await startInProcess(t, { dataDir: join(dataDir, 'open') })
    assert.equal((await kmd.call('GET', '/versions')).status, 200)
  })

  test('a wallet file is named after the safe characters of its name, and its id', async (t) => {
    const kmd = await startInProcess(t)
    const plain = await kmd.create('my_wallet-1', '')
    const odd = await kmd.create('../a b/ü', '')
    const nameless = await kmd.create('', '')
    const files = readdirSync(kmd.walletPath()).sort()
    assert.deepEqual(files, [`my_wallet-1.${plain}.db`, `ab.${odd}.db`, `${nameless}.db`].sort())
  })
})

suite('the example configuration', { concurrency }, () => {
  const example = `{
\t"drivers": {
\t\t"sqlite": {
\t\t\t"wallets_dir": "",
\t\t\t"allow_unsafe_scrypt": false,
\t\t\t"scrypt": {
\t\t\t\t"scrypt_n": 65536,
\t\t\t\t"scrypt_r": 1,
\t\t\t\t"scrypt_p": 32
\t\t\t}
\t\t},
\t\t"ledger": {
\t\t\t"disable": false
\t\t}
\t},
\t"session_lifetime_secs": 60,
\t"address": "",
\t"allowed_origins": null,
\t"allow_header_pna": false
}
`

  test('is written if there is no configuration, over an older one', async (t) => {
    const dataDir = dataDirectory(t, false)
    writeFileSync(join(dataDir, 'kmd_config.json.example'), 'old')
    const kmd = await startInProcess(t, { dataDir })
    assert.equal(readFileSync(kmd.path('kmd_config.json.example'), 'utf8'), example)
    assert.equal(existsSync(kmd.path('kmd_config.json')), false)
  })

  test('is not written next to a configuration', async (t) => {
    const kmd = await startInProcess(t)
    assert.equal(existsSync(kmd.path('kmd_config.json.example')), false)
  })

  test('a file that cannot be written does not prevent the start', async (t) => {
    const dataDir = dataDirectory(t, false)
    mkdirSync(join(dataDir, 'kmd_config.json.example'))
    const kmd = await startInProcess(t, { dataDir })
    assert.equal((await kmd.call('GET', '/versions')).status, 200)
  })

  test('an unreadable configuration counts as absent', async (t) => {
    const dataDir = dataDirectory(t, false)
    mkdirSync(join(dataDir, 'kmd_config.json'))
    const kmd = await startInProcess(t, { dataDir })
    assert.equal(readFileSync(kmd.path('kmd_config.json.example'), 'utf8'), example)
  })

  test('works as a configuration', async (t) => {
    // Only the port is changed, because the default port may be in use on this machine.
    const dataDir = dataDirectory(t, example.replace('"address": ""', '"address": "127.0.0.1:0"'))
    const kmd = await startInProcess(t, { dataDir })
    assert.deepEqual(await kmd.wallets(), [])
  })
})

suite('reading the token', { concurrency }, () => {
  const long = 'b'.repeat(256)
  for (const [title, content, token] of [
    ['a trailing newline is no part of it', `${'a'.repeat(64)}\n`, 'a'.repeat(64)],
    ['only the first line counts', `${'a'.repeat(64)}\nrubbish\n`, 'a'.repeat(64)],
    ['the longest that is allowed', long, long],
    ['any characters will do', `${'!"#$ %&~'.repeat(8)}`, '!"#$ %&~'.repeat(8)],
  ] as const) {
    test(title, async (t) => {
      const dataDir = dataDirectory(t)
      writeFileSync(join(dataDir, 'kmd.token'), content)
      const kmd = await startInProcess(t, { dataDir })
      assert.equal(readFileSync(join(dataDir, 'kmd.token'), 'utf8'), content)
      assert.equal(await statusWith(kmd, token), 200)
      assert.equal(await statusWith(kmd, `${token}x`), 401)
      assert.equal(await statusWith(kmd, token.slice(1)), 401)
      assert.equal(await statusWith(kmd, `c${token.slice(1)}`), 401)
    })
  }

  for (const [title, content] of [
    ['an empty file', ''],
    ['a blank first line', `\n${'a'.repeat(64)}\n`],
  ] as const) {
    test(`${title} is replaced by a new token`, async (t) => {
      const dataDir = dataDirectory(t)
      writeFileSync(join(dataDir, 'kmd.token'), content, { mode: 0o644 })
      const kmd = await startInProcess(t, { dataDir })
      assert.match(readFileSync(join(dataDir, 'kmd.token'), 'utf8'), /^[0-9a-f]{64}$/)
      assert.equal(modeOf(join(dataDir, 'kmd.token')), '600')
      assert.equal(await statusWith(kmd, kmd.token), 200)
      assert.equal(await statusWith(kmd, ''), 401)
      assert.equal(await statusWith(kmd, 'a'.repeat(64)), 401)
    })
  }
})

suite('reading the configuration', { concurrency }, () => {
  test('accepts names in any case, ignores unknown ones, and takes null for the default', async (t) => {
    const config = {
      ADDRESS: '127.0.0.1:0',
      Drivers: { SQLite: { Allow_Unsafe_Scrypt: true, SCRYPT: { Scrypt_N: 2, scrypt_p: null }, unknown: [1] } },
      session_LIFETIME_secs: 300,
      allowed_origins: null,
      allow_header_pna: null,
      nobody_knows_this: { at: 'all' },
    }
    const kmd = await startInProcess(t, { dataDir: dataDirectory(t, JSON.stringify(config)) })
    const handle = await kmd.unlock(await kmd.create('w', 'pw'), 'pw')
    const { wallet_handle } = await kmd.ok('POST', '/v1/wallet/info', { wallet_handle_token: handle })
    const { expires_seconds } = wallet_handle
    assert.ok(expires_seconds > 290 && expires_seconds < 300, String(expires_seconds))
  })

  test('null gives the defaults', async (t) => {
    const kmd = await startInProcess(t, { dataDir: dataDirectory(t, 'null') })
    assert.match(kmd.address, /^127\.0\.0\.1:/)
    assert.equal(existsSync(kmd.path('kmd_config.json.example')), false)
  })

  test('wallets_dir sets the directory of the wallets', async (t) => {
    const elsewhere = join(temporaryDirectory(t), 'wallets')
    const scrypt = { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2 } }
    const drivers = { sqlite: { ...scrypt, wallets_dir: elsewhere } }
    const kmd = await startInProcess(t, { settings: { drivers } })
    const id = await kmd.create('w', '')
    assert.deepEqual(readdirSync(elsewhere), [`w.${id}.db`])
    assert.equal(modeOf(elsewhere), '700')
    assert.equal(existsSync(kmd.walletPath()), false)
  })

  test('a file in place of the wallets directory fails the first request that needs it', async (t) => {
    const dataDir = dataDirectory(t)
    writeFileSync(join(dataDir, 'sqlite_wallets'), '')
    const kmd = await startInProcess(t, { dataDir })
    const { status, json } = await kmd.call('GET', '/v1/wallets')
    assert.equal(status, 500)
    assert.ok(json.message.includes(join(dataDir, 'sqlite_wallets')), json.message)
  })

  test('the wire is that of the Go daemon unless the file or --wire overrides it', async (t) => {
    const versions = async (kmd: Kmd) => (await kmd.call('GET', '/versions')).text
    const reference = '{\n  "versions": [\n    "v1"\n  ]\n}'
    const documented = '{"error":false,"message":"","versions":["v1"]}'
    assert.equal(await versions(await startInProcess(t)), reference)
    assert.equal(await versions(await startInProcess(t, { settings: { wire: 'documented' } })), documented)
    assert.equal(await versions(await startHosted(t, { args: ['--wire', 'documented'] })), documented)
    const forced = await startHosted(t, { settings: { wire: 'documented' }, args: ['--wire=reference'] })
    assert.equal(await versions(forced), reference)
  })
})

suite('files after the daemon stops', { concurrency }, () => {
  test('after SIGTERM: no kmd.pid and kmd.net; lock, log, token and wallets stay', async (t) => {
    const kmd = await start(t)
    const id = await kmd.create('w', 'pw')
    assert.equal(await kmd.stop(), 0)
    assert.deepEqual(readdirSync(kmd.dataDir).sort(), [
      'kmd.lock',
      'kmd.log',
      'kmd.token',
      'kmd_config.json',
      'latchkey_audit.head',
      'latchkey_state.db',
      'sqlite_wallets',
    ])
    assert.deepEqual(readdirSync(kmd.walletPath()), [`w.${id}.db`])
    const messages = [...kmd.log().matchAll(/msg="([^"]*)"/g)].map(([, message]) => message)
    assert.deepEqual(messages, [
      `started kmd on sock: ${kmd.address}`,
      'kmd wallet HTTP server stopped with: http: Server closed',
      'kmd server died. exiting...',
    ])
  })

  test('after SIGKILL: stale files, which the next start replaces', async (t) => {
    const first = await start(t)
    const id = await first.create('w', 'pw')
    assert.equal(await first.stop('SIGKILL'), 'SIGKILL')
    const stale = { net: readFileSync(first.path('kmd.net'), 'utf8'), pid: readFileSync(first.path('kmd.pid'), 'utf8') }
    assert.equal(stale.pid, String(first.pid))
    const second = await start(t, { dataDir: first.dataDir })
    assert.equal(readFileSync(second.path('kmd.pid'), 'utf8'), String(second.pid))
    assert.notEqual(second.pid, first.pid)
    assert.equal(second.token, first.token)
    assert.equal((await second.wallets())[0]?.id, id)
    assert.equal(await second.stop(), 0)
    assert.equal(existsSync(first.path('kmd.net')), false)
  })

  test('a stop is graceful even after the files were removed', async (t) => {
    const kmd = await startInProcess(t)
    for (const name of ['kmd.net', 'kmd.pid', 'kmd.token']) rmSync(kmd.path(name))
    assert.equal(await kmd.stop(), 0)
  })

  test('the log is appended to', async (t) => {
    const first = await startInProcess(t)
    await first.stop()
    const before = first.log()
    const second = await startInProcess(t, { dataDir: first.dataDir })
    assert.ok(second.log().startsWith(before) && second.log().length > before.length)
  })
})

suite('a token that is replaced while the daemon runs', () => {
  test('is accepted without a restart, unless it is damaged', async (t) => {
    const kmd = await startInProcess(t)
    const replaced = 'r'.repeat(64)
    writeFileSync(kmd.path('kmd.token'), replaced)
    await until('the new token', async () => (await statusWith(kmd, replaced)) === 200)
    assert.equal(await statusWith(kmd, kmd.token), 401)
    writeFileSync(kmd.path('kmd.token'), 'short')
    await until('the message', () => kmd.log().includes('kmd.token changed but was not applied'))
    assert.equal(await statusWith(kmd, replaced), 200)
    assert.equal(await statusWith(kmd, 'short'), 401)
  })
})

async function statusWith(kmd: Kmd, token: string): Promise<number> {
  return (await kmd.call('GET', '/v1/wallets', undefined, { token })).status
}
