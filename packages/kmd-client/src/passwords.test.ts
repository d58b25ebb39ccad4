import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { inspect } from 'node:util'
import {
  makeDataDir,
  type Running,
  readState,
  recordingProxy,
  removeDataDir,
  startOurs,
  transports,
} from './daemons.test.helper.js'
import { type Fetch, Kmd, KmdClientError, type Wallet } from './index.js'

const password = 'correct horse battery'

for (const transport of transports) {
  test(`passwords over ${transport.name}`, async (t) => {
    let dataDir: string
    let daemon: Running
    let proxy: Awaited<ReturnType<typeof recordingProxy>>
    let kmd: Kmd
    let token: string
    let id: string
    let count = 0

    t.before(async () => {
      dataDir = makeDataDir()
      daemon = await startOurs(dataDir)
    })

    t.after(async () => {
      await daemon.stop()
      removeDataDir(dataDir)
    })

    t.beforeEach(async () => {
      const state = readState(dataDir)
      token = state.token
      proxy = await recordingProxy(state.address)
      kmd = await Kmd.connect({ address: proxy.address, token, ...transport.client })
      id = (await kmd.wallets.create({ name: `wallet ${++count}`, password })).id
    })

    t.afterEach(async () => {
      mock.restoreAll()
      await proxy.close()
    })

    /** Every operation that needs the password. */
    const guarded: { [operation: string]: (wallet: Wallet, options: { password?: string }) => Promise<unknown> } = {
      ExportMasterKey: (wallet, options) => wallet.masterDerivationKey(options),
      ExportKey: (wallet, options) => wallet.exportKey('A', options),
      DeleteKey: (wallet, options) => wallet.deleteKey('A', options),
      DeleteMultisig: (wallet, options) => wallet.deleteMultisig('A', options),
      RenameWallet: (wallet, options) => wallet.rename('A', options),
      SignTransaction: (wallet, options) => wallet.signTransaction(new Uint8Array(), options),
      SignProgram: (wallet, options) => wallet.signProgram({ address: 'A', program: new Uint8Array(), ...options }),
      SignReceipt: (wallet, options) =>
        wallet.signReceipt({ address: 'A', network: 'A', resourceUrl: 'A', payer: 'A', ...options }),
      SignOffer: (wallet, options) => {
        const terms = { scheme: 'A', network: 'A', asset: 'A', payTo: 'A', amount: 'A', validUntil: 1 }
        return wallet.signOffer({ address: 'A', resourceUrl: 'A', ...terms, ...options })
      },
      SignMultisigTransaction: (wallet, options) =>
        wallet.signMultisigTransaction({ transaction: new Uint8Array(), publicKey: new Uint8Array(32), ...options }),
      SignMultisigProgram: (wallet, options) =>
        wallet.signMultisigProgram({
          address: 'A',
          program: new Uint8Array(),
          publicKey: new Uint8Array(32),
          ...options,
        }),
    }

    await t.test(
      'a password value is not kept: operations that need a password fail before anything is sent',
      async () => {
        const wallet = await kmd.unlock({ id, password })
        proxy.seen.length = 0
        for (const [operation, call] of Object.entries(guarded)) {
          await assert.rejects(call(wallet, {}), {
            name: 'KmdClientError',
            code: 'password_required',
            operation,
            message:
              `${operation} needs the wallet's password, which is not kept: ` +
              'pass { password } with the call, or give unlock a function that returns it',
          })
        }
        assert.deepEqual(proxy.seen, [])
      },
    )

    await t.test("every operation that needs a password sends the call's password", async () => {
      const wallet = await kmd.unlock({ id, password })
      for (const [operation, call] of Object.entries(guarded)) {
        proxy.bodies.length = 0
        await call(wallet, { password: `for ${operation}` }).catch(() => {})
        assert.deepEqual(
          proxy.bodies.map((body) => JSON.parse(body).wallet_password),
          [`for ${operation}`],
        )
      }
    })

    await t.test('operations that need no password send none', async () => {
      const wallet = await kmd.unlock({ id, password: () => password })
      proxy.bodies.length = 0
      const key = await wallet.generateKey()
      await wallet.importKey(new Uint8Array(32).fill(1))
      await wallet.exportMultisig(await wallet.importMultisig({ threshold: 1, publicKeys: [key] }))
      await Promise.all([wallet.keys(), wallet.multisigs(), wallet.info()])
      await wallet.release()
      assert.equal(proxy.bodies.length, 8)
      assert.ok(proxy.bodies.every((body) => !body.includes('password')))
    })

    await t.test('a password function is called each time a password is needed', async () => {
      let calls = 0
      const wallet = await kmd.unlock({
        id,
        password: async () => {
          calls++
          return Buffer.from(password)
        },
      })
      assert.equal(calls, 1)
      await wallet.masterDerivationKey()
      await wallet.masterDerivationKey()
      assert.equal(calls, 3)
      await wallet.keys()
      assert.equal(calls, 3)
      await wallet.masterDerivationKey({ password })
      assert.equal(calls, 3)
    })

    await t.test('errors of a password function reach the caller, and invalid passwords are rejected', async () => {
      let isFirst = true
      const wallet = await kmd.unlock({
        id,
        password: () => {
          if (!isFirst) throw new RangeError('the prompt was closed')
          isFirst = false
          return password
        },
      })
      await assert.rejects(wallet.masterDerivationKey(), { name: 'RangeError', message: 'the prompt was closed' })
      await assert.rejects(kmd.unlock({ id, password: (() => 5) as unknown as () => string }), {
        code: 'invalid_argument',
      })
      assert.deepEqual(await wallet.keys(), [])
    })

    await t.test('a blank password needs no function', async () => {
      const blank = await kmd.wallets.create({ name: `blank ${count}`, password: '' })
      for (const options of [{}, { password: '' }, { password: new Uint8Array() }]) {
        const wallet = await kmd.unlock({ id: blank.id, ...options })
        assert.equal((await wallet.masterDerivationKey()).length, 32)
      }
    })

    await t.test('request bodies are wiped after sending', async () => {
      const sent: Uint8Array[] = []
      const record = (body: unknown): void => {
        if (body instanceof Uint8Array) sent.push(body)
      }
      const { write } = Socket.prototype
      mock.method(Socket.prototype, 'write', function (this: Socket, ...given: Parameters<Socket['write']>) {
        const [bytes] = given as [unknown]
        // Only the client's requests: the proxy writes its own head as a text.
        if (bytes instanceof Uint8Array && String.fromCharCode(...bytes.subarray(0, 5)) === 'POST ') record(bytes)
        return write.apply(this, given)
      })
      const fetch: Fetch = (url, init) => {
        record(init.body)
        return globalThis.fetch(url, init)
      }
      const recorded = await Kmd.connect({ dataDir, ...(transport.name === 'fetch' ? { fetch } : {}) })
      const wallet = await recorded.unlock({ id, password: () => password })
      await wallet.masterDerivationKey()
      assert.equal(sent.length, 3)
      assert.ok(sent.every((body) => body.length > 0 && body.every((byte) => byte === 0)))
    })

    await t.test('no error contains a password, a handle or a token', async () => {
      const wallet = await kmd.unlock({ id, password: () => password })
      const handle: string = JSON.parse(
        proxy.bodies.find((body) => body.includes('wallet_handle_token'))!,
      ).wallet_handle_token
      const failures: unknown[] = []
      const collect = (promise: Promise<unknown>) =>
        promise.then(
          () => assert.fail('did not fail'),
          (error: unknown) => failures.push(error),
        )
      await collect(kmd.unlock({ id, password: `wrong ${password}` }))
      await collect(wallet.exportKey('nonsense', { password }))
      await collect(wallet.signTransaction(Buffer.from(password)))
      await collect(wallet.masterDerivationKey({ password, timeoutMs: 0 }))
      await proxy.close()
      await collect(wallet.masterDerivationKey())
      await wallet.release()
      await collect(wallet.keys())
      proxy = await recordingProxy(readState(dataDir).address)
      assert.ok(failures.length === 6 && failures.every((failure) => failure instanceof KmdClientError))
      for (const shown of [...failures, kmd, wallet, kmd.wallets]) {
        const text = inspect(shown, { depth: 20, showHidden: true })
        for (const secret of [password, handle, handle.slice(17), token]) assert.ok(!text.includes(secret), text)
      }
    })

    await t.test('too many wrong passwords are reported with Retry-After, and the call is not repeated', async () => {
      await daemon.stop()
      const failures = { [id]: { streak: 20, level: 20, lastFailureMs: Date.now() } }
      writeFileSync(join(dataDir, 'latchkey_failures.json'), JSON.stringify(failures))
      daemon = await startOurs(dataDir)
      await proxy.close()
      const state = readState(dataDir)
      proxy = await recordingProxy(state.address)
      kmd = await Kmd.connect({ address: proxy.address, token: state.token, ...transport.client })
      await assert.rejects(kmd.unlock({ id, password: () => password }), (error: KmdClientError) => {
        assert.equal(error.status, 429)
        assert.match(error.message, /^too many wrong passwords/)
        assert.ok(error.retryAfterSeconds! > 200 && error.retryAfterSeconds! <= 300)
        return true
      })
      assert.deepEqual(proxy.seen, ['POST /v1/wallet/init'])
    })
  })
}
