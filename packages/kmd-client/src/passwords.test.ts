import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { ClientRequest } from 'node:http'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test'
import { inspect } from 'node:util'
import { listenIn, makeDataDir, type Running, readState, removeDataDir, startOurs } from './daemons.test.helper.js'
import { Kmd, KmdClientError, type Wallet } from './index.js'

const password = 'correct horse battery'

describe('passwords', () => {
  let dataDir: string
  let daemon: Running
  let between: Awaited<ReturnType<typeof listenIn>>
  let kmd: Kmd
  let token: string
  let id: string
  let count = 0

  before(async () => {
    dataDir = makeDataDir()
    daemon = await startOurs(dataDir)
  })

  after(async () => {
    await daemon.stop()
    removeDataDir(dataDir)
  })

  beforeEach(async () => {
    const state = readState(dataDir)
    token = state.token
    between = await listenIn(state.address)
    kmd = await Kmd.connect({ address: between.address, token })
    id = (await kmd.wallets.create({ name: `wallet ${++count}`, password })).id
  })

  afterEach(async () => {
    mock.restoreAll()
    await between.close()
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

  it('a password that was given once is not kept: what needs one fails before anything is sent', async () => {
    const wallet = await kmd.unlock({ id, password })
    between.seen.length = 0
    for (const [operation, call] of Object.entries(guarded)) {
      await assert.rejects(call(wallet, {}), {
        name: 'KmdClientError',
        reason: 'password',
        operation,
        message:
          `${operation} needs the password of the wallet, which is not kept: ` +
          'pass { password } with the call, or give unlock a function that returns it',
      })
    }
    assert.deepEqual(between.seen, [])
  })

  it('every operation that needs a password sends the one of the call', async () => {
    const wallet = await kmd.unlock({ id, password })
    for (const [operation, call] of Object.entries(guarded)) {
      between.bodies.length = 0
      await call(wallet, { password: `for ${operation}` }).catch(() => {})
      assert.deepEqual(
        between.bodies.map((body) => JSON.parse(body).wallet_password),
        [`for ${operation}`],
      )
    }
  })

  it('operations that need no password send none', async () => {
    const wallet = await kmd.unlock({ id, password: () => password })
    between.bodies.length = 0
    const key = await wallet.generateKey()
    await wallet.importKey(new Uint8Array(32).fill(1))
    await wallet.exportMultisig(await wallet.importMultisig({ threshold: 1, publicKeys: [key] }))
    await Promise.all([wallet.keys(), wallet.multisigs(), wallet.info()])
    await wallet.release()
    assert.equal(between.bodies.length, 8)
    assert.ok(between.bodies.every((body) => !body.includes('password')))
  })

  it('a function is asked each time', async () => {
    let asked = 0
    const wallet = await kmd.unlock({
      id,
      password: async () => {
        asked++
        return Buffer.from(password)
      },
    })
    assert.equal(asked, 1)
    await wallet.masterDerivationKey()
    await wallet.masterDerivationKey()
    assert.equal(asked, 3)
    await wallet.keys()
    assert.equal(asked, 3)
    await wallet.masterDerivationKey({ password })
    assert.equal(asked, 3)
  })

  it('what the function throws reaches the caller, and what is no password is refused', async () => {
    let isFirst = true
    const wallet = await kmd.unlock({
      id,
      password: () => {
        if (!isFirst) throw new RangeError('the operator went home')
        isFirst = false
        return password
      },
    })
    await assert.rejects(wallet.masterDerivationKey(), { name: 'RangeError', message: 'the operator went home' })
    await assert.rejects(kmd.unlock({ id, password: (() => 5) as unknown as () => string }), { reason: 'argument' })
    assert.deepEqual(await wallet.keys(), [])
  })

  it('of the blank password only that it is blank is remembered', async () => {
    const blank = await kmd.wallets.create({ name: `blank ${count}`, password: '' })
    for (const options of [{}, { password: '' }, { password: new Uint8Array() }]) {
      const wallet = await kmd.unlock({ id: blank.id, ...options })
      assert.equal((await wallet.masterDerivationKey()).length, 32)
    }
  })

  it('what was sent is wiped', async () => {
    const sent: Buffer[] = []
    const { end } = ClientRequest.prototype
    mock.method(ClientRequest.prototype, 'end', function (this: ClientRequest, body?: Buffer) {
      // Only what the client sends, not what passes it on.
      if (body !== undefined && this.getHeader('accept') !== undefined && this.host === '127.0.0.1') sent.push(body)
      return end.call(this, body, undefined as never)
    })
    const wallet = await (await Kmd.connect({ dataDir })).unlock({ id, password: () => password })
    await wallet.masterDerivationKey()
    assert.equal(sent.length, 3)
    assert.ok(sent.every((body) => body.length > 0 && body.every((byte) => byte === 0)))
  })

  it('no message holds a password, a handle or a token', async () => {
    const wallet = await kmd.unlock({ id, password: () => password })
    const handle: string = JSON.parse(
      between.bodies.find((body) => body.includes('wallet_handle_token'))!,
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
    await between.close()
    await collect(wallet.masterDerivationKey())
    await wallet.release()
    await collect(wallet.keys())
    between = await listenIn(readState(dataDir).address)
    assert.ok(failures.length === 6 && failures.every((failure) => failure instanceof KmdClientError))
    for (const shown of [...failures, kmd, wallet, kmd.wallets]) {
      const text = inspect(shown, { depth: 20, showHidden: true })
      for (const secret of [password, handle, handle.slice(17), token]) assert.ok(!text.includes(secret), text)
    }
  })

  it('too many wrong passwords are answered with how long to wait, and not asked with again', async () => {
    await daemon.stop()
    const failures = { [id]: { streak: 20, level: 20, lastFailureMs: Date.now() } }
    writeFileSync(join(dataDir, 'latchkey_failures.json'), JSON.stringify(failures))
    daemon = await startOurs(dataDir)
    await between.close()
    const state = readState(dataDir)
    between = await listenIn(state.address)
    kmd = await Kmd.connect({ address: between.address, token: state.token })
    await assert.rejects(kmd.unlock({ id, password: () => password }), (error: KmdClientError) => {
      assert.equal(error.status, 429)
      assert.match(error.message, /^too many wrong passwords/)
      assert.ok(error.retryAfterSeconds! > 200 && error.retryAfterSeconds! <= 300)
      return true
    })
    assert.deepEqual(between.seen, ['POST /v1/wallet/init'])
  })
})
