/** Tests wallet files that other programs add, remove, change and lock while the daemon runs. */
import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { suite, test } from 'node:test'
import { DatabaseSync } from '@photostructure/sqlite'
import { holdDatabase, type Kmd, sleep, startHosted, timed } from './commands.test.helper.js'

/** One of these tests waits five seconds for a lock; the others run meanwhile. */
const concurrency = 4

async function walletWithKey(kmd: Kmd, name: string) {
  const id = await kmd.create(name, 'pw')
  const handle = await kmd.unlock(id, 'pw')
  const address = await kmd.generate(handle)
  return { id, handle, address, file: kmd.walletPath(`${name}.${id}.db`) }
}

suite('vanishing files', { concurrency }, () => {
  suite('a wallet file under an open handle', { concurrency: 2 }, () => {
    test('that is removed is an error and is not created again; once restored, it works again', async (t) => {
      const kmd = await startHosted(t)
      const { id, handle, address, file } = await walletWithKey(kmd, 'w')
      renameSync(file, kmd.path('aside'))
      const key = { wallet_handle_token: handle, address, wallet_password: 'pw' }
      for (const [method, path, body, status] of [
        ['POST', '/v1/key/list', { wallet_handle_token: handle }, 500],
        ['POST', '/v1/key', { wallet_handle_token: handle }, 500],
        ['POST', '/v1/wallet/info', { wallet_handle_token: handle }, 500],
        ['POST', '/v1/key/export', key, 400],
        ['DELETE', '/v1/key', key, 400],
      ] as const) {
        const response = await kmd.call(method, path, body)
        assert.deepEqual([response.status, response.json.message], [status, 'database error'], `${method} ${path}`)
      }
      assert.equal((await kmd.tryUnlock(id, 'pw')).json.message, 'wallet not found')
      assert.deepEqual(readdirSync(kmd.walletPath()), [])
      renameSync(kmd.path('aside'), file)
      assert.deepEqual(await kmd.keys(handle), [address])
      await kmd.ok('POST', '/v1/key/export', key)
      await kmd.generate(handle)
      await kmd.unlock(id, 'pw')
    })

    test('that is replaced by another wallet is rejected', async (t) => {
      const kmd = await startHosted(t)
      const [one, two] = [await walletWithKey(kmd, 'one'), await walletWithKey(kmd, 'two')]
      renameSync(one.file, kmd.path('aside'))
      copyFileSync(two.file, one.file)
      const response = await kmd.call('POST', '/v1/key/list', { wallet_handle_token: one.handle })
      assert.deepEqual([response.status, response.json.message], [500, 'database error'])
      const generated = await kmd.call('POST', '/v1/key', { wallet_handle_token: one.handle })
      assert.equal(generated.status, 500)
      assert.deepEqual(await kmd.keys(two.handle), [two.address])
      renameSync(kmd.path('aside'), one.file)
      assert.deepEqual(await kmd.keys(one.handle), [one.address])
    })

    test('that becomes garbage, or empty, is an error; once restored, it works again', async (t) => {
      const kmd = await startHosted(t)
      const { handle, address, file } = await walletWithKey(kmd, 'w')
      renameSync(file, kmd.path('aside'))
      for (const content of ['', 'this is not a database '.repeat(1000)]) {
        writeFileSync(file, content)
        const response = await kmd.call('POST', '/v1/key/list', { wallet_handle_token: handle })
        assert.deepEqual([response.status, response.json.message], [500, 'database error'])
        rmSync(file)
      }
      renameSync(kmd.path('aside'), file)
      assert.deepEqual(await kmd.keys(handle), [address])
    })

    test('that is restored from a copy without a key no longer signs with it', async (t) => {
      const kmd = await startHosted(t)
      const { handle, address, file } = await walletWithKey(kmd, 'w')
      const exportKey = () =>
        kmd.call('POST', '/v1/key/export', { wallet_handle_token: handle, address, wallet_password: 'pw' })
      const [withKey, without] = [kmd.path('with'), kmd.path('without')]
      copyFileSync(file, withKey)
      await kmd.ok('DELETE', '/v1/key', { wallet_handle_token: handle, address, wallet_password: 'pw' })
      copyFileSync(file, without)
      // Old copies, so their age is not in doubt.
      for (const path of [withKey, without]) utimesSync(path, 1_700_000_000, 1_700_000_000)
      for (const [copy, status] of [
        [withKey, 200],
        [without, 400],
        [withKey, 200],
        [without, 400],
      ] as const) {
        copyFileSync(copy, `${file}.new`)
        utimesSync(`${file}.new`, 1_700_000_000, 1_700_000_000)
        renameSync(`${file}.new`, file)
        assert.equal((await exportKey()).status, status)
      }
    })
  })

  suite('a database that another program has locked', { concurrency: 2 }, () => {
    test('is waited for', async (t) => {
      const kmd = await startHosted(t)
      const { id, handle, address, file } = await walletWithKey(kmd, 'w')
      const release = await holdDatabase(t, file)
      let isReleased = false
      const afterwards = <T>(result: T): T => {
        assert.ok(isReleased, 'a request did not wait')
        return result
      }
      const calls = [kmd.generate(handle), kmd.unlock(id, 'pw'), kmd.keys(handle)] as const
      const waiting = Promise.all([calls[0].then(afterwards), calls[1].then(afterwards), calls[2].then(afterwards)])
      await sleep(700)
      // The daemon still serves other requests.
      await kmd.ok('GET', '/versions')
      isReleased = true
      await release()
      const [generated, second, listed] = await waiting
      assert.ok(listed.includes(address))
      assert.deepEqual([...(await kmd.keys(second))].sort(), [address, generated].sort())
    })

    test('is given up after five seconds', async (t) => {
      const kmd = await startHosted(t)
      const { id, handle, file, address } = await walletWithKey(kmd, 'w')
      const other = await kmd.create('other', '')
      const release = await holdDatabase(t, file)
      const calls = [
        kmd.call('POST', '/v1/key/list', { wallet_handle_token: handle }),
        kmd.call('POST', '/v1/key', { wallet_handle_token: handle }),
        kmd.tryUnlock(id, 'pw'),
        kmd.call('POST', '/v1/wallet/rename', { wallet_id: id, wallet_password: 'pw', wallet_name: 'x' }),
      ]
      let isOtherUnlocked = false
      const others = kmd.unlock(other, '').then(() => {
        isOtherUnlocked = true
      })
      const all = await Promise.all(calls.map((call) => timed(call)))
      assert.ok(isOtherUnlocked, 'another wallet had to wait too')
      await others
      assert.deepEqual(
        all.map(({ result }) => [result.status, result.json.message]),
        [500, 500, 401, 400].map((status) => [status, 'error connecting to database']),
      )
      for (const { elapsedMs } of all) assert.ok(elapsedMs > 4_500, `${elapsedMs} ms`)
      // The database is locked, not missing.
      assert.deepEqual(await kmd.walletNames(), ['other', 'w'])
      await release()
      assert.deepEqual(await kmd.keys(handle), [address])
      assert.equal(await kmd.stop(), 0)
    })
  })

  suite('the wallets directory', { concurrency: 2 }, () => {
    test('added, renamed and removed files show in the next listing', async (t) => {
      const kmd = await startHosted(t)
      const other = await startHosted(t)
      const { id, address, file } = await walletWithKey(other, 'guest')
      await kmd.create('host', '')
      assert.deepEqual(await kmd.walletNames(), ['host'])
      for (let round = 0; round < 5; round++) {
        copyFileSync(file, kmd.walletPath('a copy.db'))
        assert.deepEqual(await kmd.walletNames(), ['guest', 'host'])
        const handle = await kmd.unlock(id, 'pw')
        assert.deepEqual(await kmd.keys(handle), [address])
        renameSync(kmd.walletPath('a copy.db'), kmd.walletPath('zzz.db'))
        assert.deepEqual(await kmd.walletNames(), ['host', 'guest'])
        await kmd.unlock(id, 'pw')
        rmSync(kmd.walletPath('zzz.db'))
        assert.deepEqual(await kmd.walletNames(), ['host'])
        assert.equal((await kmd.tryUnlock(id, 'pw')).json.message, 'wallet not found')
      }
    })

    test('a name that another program changed in the file shows in the next listing', async (t) => {
      const kmd = await startHosted(t)
      const { file, handle } = await walletWithKey(kmd, 'before')
      assert.deepEqual(await kmd.walletNames(), ['before'])
      const database = new DatabaseSync(file)
      database.prepare('UPDATE metadata SET wallet_name = ?').run(Buffer.from('after'))
      database.close()
      assert.deepEqual(await kmd.walletNames(), ['after'])
      const info = await kmd.ok('POST', '/v1/wallet/info', { wallet_handle_token: handle })
      assert.equal(info.wallet_handle.wallet.name, 'after')
    })

    test('two files with one id are listed, but neither is opened', async (t) => {
      const kmd = await startHosted(t)
      const { id, file } = await walletWithKey(kmd, 'twin')
      copyFileSync(file, kmd.walletPath('copy.db'))
      assert.deepEqual(await kmd.walletNames(), ['twin', 'twin'])
      const message = 'multiple wallets with the same ID exist. cannot continue'
      const unlock = await kmd.tryUnlock(id, 'pw')
      assert.deepEqual([unlock.status, unlock.json.message], [400, message])
      const body = { wallet_id: id, wallet_password: 'pw', wallet_name: 'x' }
      const rename = await kmd.call('POST', '/v1/wallet/rename', body)
      assert.deepEqual([rename.status, rename.json.message], [400, message])
      rmSync(kmd.walletPath('copy.db'))
      await kmd.unlock(id, 'pw')
    })

    test('files that are not wallets are ignored', async (t) => {
      const kmd = await startHosted(t)
      const { id, file } = await walletWithKey(kmd, 'w')
      writeFileSync(kmd.walletPath('empty.db'), '')
      writeFileSync(kmd.walletPath('garbage.db'), 'garbage'.repeat(2_000))
      writeFileSync(kmd.walletPath('short.db'), 'SQLite format 3\0')
      mkdirSync(kmd.walletPath('directory.db'))
      copyFileSync(file, kmd.walletPath('other.sqlite'))
      copyFileSync(file, kmd.walletPath('w.db.bak'))
      const foreign = new DatabaseSync(kmd.walletPath('foreign.db'))
      foreign.exec('CREATE TABLE notes (text TEXT)')
      foreign.close()
      for (const [name, change] of [
        ['driver.db', "driver_name = 'ledger'"],
        ['version.db', 'driver_version = 2'],
      ] as const) {
        copyFileSync(file, kmd.walletPath(name))
        const database = new DatabaseSync(kmd.walletPath(name))
        database.exec(`UPDATE metadata SET ${change}`)
        database.close()
      }
      assert.deepEqual(await kmd.walletNames(), ['w'])
      await kmd.unlock(id, 'pw')
      assert.equal(await kmd.stop(), 0)
      const again = await startHosted(t, { dataDir: kmd.dataDir })
      assert.deepEqual(await again.walletNames(), ['w'])
      assert.equal(existsSync(kmd.walletPath('empty.db')), true)
    })

    test("that is removed is 500 with the system's message; once restored, everything works", async (t) => {
      const kmd = await startHosted(t)
      const { id, handle, address } = await walletWithKey(kmd, 'w')
      renameSync(kmd.walletPath(), kmd.path('moved'))
      const message = `open ${kmd.walletPath()}: no such file or directory`
      const list = await kmd.call('GET', '/v1/wallets')
      assert.deepEqual([list.status, list.json.message], [500, message])
      const create = { wallet_name: 'x', wallet_driver_name: 'sqlite' }
      for (const response of [await kmd.call('POST', '/v1/wallet', create), await kmd.tryUnlock(id, 'pw')]) {
        assert.deepEqual([response.status, response.json.message], [400, message])
      }
      assert.equal(existsSync(kmd.walletPath()), false)
      mkdirSync(kmd.walletPath(), { mode: 0o700 })
      assert.deepEqual(await kmd.wallets(), [])
      await kmd.create('new', '')
      assert.deepEqual(await kmd.walletNames(), ['new'])
      rmSync(kmd.walletPath(), { recursive: true })
      const removed = await kmd.call('GET', '/v1/wallets')
      assert.deepEqual([removed.status, removed.json.message], [500, message])
      renameSync(kmd.path('moved'), kmd.walletPath())
      assert.deepEqual(await kmd.walletNames(), ['w'])
      assert.deepEqual(await kmd.keys(handle), [address])
      await kmd.unlock(id, 'pw')
    })
  })
})
