import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { inspect } from 'node:util'
import {
  makeDataDir,
  readState,
  removeDataDir,
  type Server,
  serve,
  startOurs,
  transports,
} from './daemons.test.helper.js'
import { Kmd, KmdClientError } from './index.js'

type Handler = (incoming: IncomingMessage, outgoing: ServerResponse) => void

const token = 't'.repeat(64)
const wallet = { id: '1', name: 'w', driver_name: 'sqlite', driver_version: 1, mnemonic_ux: false, supported_txs: [] }

for (const transport of transports) {
  test(`failures over ${transport.name}`, async (t) => {
    let server: Server
    let respond: Handler
    let requests: number

    t.beforeEach(async () => {
      requests = 0
      server = await serve((incoming, outgoing) => {
        requests++
        incoming.resume()
        respond(incoming, outgoing)
      })
    })

    t.afterEach(() => server.close())

    const connect = (options: { timeoutMs?: number; maxResponseBytes?: number } = {}): Promise<Kmd> =>
      Kmd.connect({ address: server.address, token, ...transport.client, ...options })

    const reply =
      (status: number, body: string, headers: { [name: string]: string } = {}): Handler =>
      (_, outgoing) =>
        void outgoing.writeHead(status, headers).end(body)

    /** A daemon that unlocks, and then sends the test's responses. */
    async function unlocked(handle: Handler) {
      respond = (incoming, outgoing) => {
        if (incoming.url === '/v1/wallet/init') reply(200, '{"wallet_handle_token":"h"}')(incoming, outgoing)
        else if (incoming.url === '/v1/wallet/renew') {
          reply(200, JSON.stringify({ wallet_handle: { expires_seconds: 60, wallet } }))(incoming, outgoing)
        } else handle(incoming, outgoing)
      }
      return (await connect()).unlock({ id: '1' })
    }

    async function failure(promise: Promise<unknown>): Promise<KmdClientError> {
      const error = await promise.then(
        () => assert.fail('did not fail'),
        (reason: unknown) => reason,
      )
      assert.ok(error instanceof KmdClientError, inspect(error))
      return error
    }

    for (const [what, status, body] of [
      ['text', 200, 'hello from a printer'],
      ['nothing', 200, ''],
      ['a list', 200, '[1]'],
      ['a text of JSON', 200, '"x"'],
      ['null', 200, 'null'],
      ['a page', 404, '404 page not found\n'],
      ['nothing, and a failure', 405, ''],
      ['a redirection', 301, ''],
      ['JSON without a message', 500, '{"error":true}'],
    ] as const) {
      await t.test(`rejects a response of ${what} as not a daemon's`, async () => {
        respond = reply(status, body)
        const error = await failure((await connect()).wallets.list())
        assert.equal(error.code, 'invalid_response')
        assert.equal(error.status, status)
        assert.match(error.message, /^the response to ListWallets \(status [0-9]+\) is not from a key daemon/)
        assert.equal(requests, 1)
      })
    }

    await t.test('a response that cannot be parsed is not quoted, because it may contain a key', async () => {
      const secret = 'c2VjcmV0IGtleSBieXRlcw=='
      for (const body of [`{"private_key":"${secret}"`, `{"private_key":"${secret}"}`]) {
        const opened = await unlocked(reply(200, body))
        const error = await failure(opened.exportKey('A'))
        assert.equal(error.code, 'invalid_response')
        assert.ok(!inspect(error, { depth: 10 }).includes(secret.slice(0, 8)))
      }
    })

    await t.test('error: true is a failure, regardless of the status', async () => {
      respond = reply(200, '{"error":true,"message":"no"}')
      const error = await failure((await connect()).wallets.list())
      assert.deepEqual([error.code, error.status, error.message], ['daemon_error', 200, 'no'])
    })

    await t.test('the code of a failure is the header Latchkey-Error, even with an unregistered text', async () => {
      const body = '{"error":true,"message":"the node at http://n cannot be reached"}'
      respond = reply(503, body, { 'Latchkey-Error': 'node_failed' })
      assert.equal((await failure((await connect()).wallets.list())).code, 'node_failed')
    })

    await t.test('a long message is truncated', async () => {
      respond = reply(400, JSON.stringify({ error: true, message: 'x'.repeat(100_000) }))
      assert.equal((await failure((await connect()).wallets.list())).message.length, 1024)
    })

    for (const [what, body] of [
      ['absent', {}],
      ['a number', { address: 5 }],
      ['an object', { address: {} }],
    ] as const) {
      await t.test(`rejects a text that is ${what}`, async () => {
        const opened = await unlocked(reply(200, JSON.stringify(body)))
        const error = await failure(opened.generateKey())
        assert.equal(error.code, 'invalid_response')
        assert.equal(error.message, 'the response to GenerateKey has no valid "address"')
      })
    }

    for (const value of [
      'AAAA',
      'not base64!',
      `${'A'.repeat(86)}`,
      `${'_'.repeat(86)}==`,
      [1, 2],
      Array(64).fill(256),
      Array(64).fill(-1),
      Array(64).fill(1.5),
      Array(64).fill('1'),
      null,
      7,
      {},
    ]) {
      await t.test(`rejects a key of ${JSON.stringify(value).slice(0, 20)}`, async () => {
        const opened = await unlocked(reply(200, JSON.stringify({ private_key: value })))
        assert.equal((await failure(opened.exportKey('A'))).code, 'invalid_response')
      })
    }

    await t.test('a key is read as base64 and as integers', async () => {
      const key = Uint8Array.from({ length: 64 }, (_, index) => index * 4)
      for (const value of [Buffer.from(key).toString('base64'), Array.from(key)]) {
        const opened = await unlocked(reply(200, JSON.stringify({ private_key: value })))
        assert.deepEqual(await opened.exportKey('A'), key)
      }
    })

    await t.test('lists are read if they are absent, null, empty or full', async () => {
      for (const [body, expected] of [
        ['{}', []],
        ['{"addresses":null}', []],
        ['{"error":false,"message":"","addresses":[]}', []],
        ['{"addresses":["A","B"]}', ['A', 'B']],
      ] as const) {
        assert.deepEqual(await (await unlocked(reply(200, body))).keys(), expected)
      }
      assert.equal((await failure((await unlocked(reply(200, '{"addresses":"A"}'))).keys())).code, 'invalid_response')
    })

    await t.test('a call without a response times out', async () => {
      respond = () => {}
      const kmd = await connect({ timeoutMs: 300 })
      const error = await failure(kmd.wallets.list())
      assert.equal(error.code, 'timeout')
      const start = `${server.address} did not respond to`
      assert.equal(error.message, `${start} ListWallets within 300 ms`)
      assert.equal(error.hint, 'check that the daemon is running, and repeat the call')
      // The call's time limit overrides the client's.
      const longer = await failure(kmd.wallets.create({ name: 'w', password: 'p', timeoutMs: 310 }))
      assert.equal(longer.message, `${start} CreateWallet within 310 ms`)
      assert.equal(longer.hint, 'the operation may have taken effect: check before you repeat it')
      assert.equal(requests, 2)
    })

    await t.test('the time limit covers a response that arrives slowly', async () => {
      respond = (_, outgoing) => {
        outgoing.writeHead(200)
        const timer = setInterval(() => outgoing.write(' '), 10)
        outgoing.on('close', () => clearInterval(timer))
      }
      assert.equal((await failure((await connect({ timeoutMs: 80 })).wallets.list())).code, 'timeout')
    })

    await t.test('rejects an invalid time limit', async () => {
      for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
        assert.equal((await failure((await connect({ timeoutMs })).wallets.list())).code, 'invalid_argument')
      }
      assert.equal(requests, 0)
    })

    await t.test('a signal aborts the call with its reason', async () => {
      const controller = new AbortController()
      respond = () => controller.abort(new RangeError('enough'))
      const kmd = await connect()
      await assert.rejects(kmd.wallets.list({ signal: controller.signal }), { name: 'RangeError', message: 'enough' })
      assert.equal(requests, 1)
      await assert.rejects(kmd.wallets.list({ signal: controller.signal }), { name: 'RangeError' })
      await assert.rejects(kmd.unlock({ id: '1', signal: controller.signal }), { name: 'RangeError' })
      await assert.rejects(kmd.versions({ signal: AbortSignal.abort() }), { name: 'AbortError' })
      assert.equal(requests, 1)
    })

    await t.test('rejects a response longer than the limit', async () => {
      let written = 0
      respond = (_, outgoing) => {
        outgoing.writeHead(200)
        const chunk = Buffer.alloc(1024 * 1024, ' ')
        const more = (): void => {
          while (!outgoing.destroyed && written < 200 * chunk.length) {
            written += chunk.length
            if (!outgoing.write(chunk)) {
              outgoing.once('drain', more)
              return
            }
          }
        }
        more()
      }
      const error = await failure((await connect()).wallets.list())
      assert.equal(error.code, 'response_too_large')
      assert.equal(error.message, 'the response to ListWallets is longer than 67108864 bytes')
      assert.ok(written < 100 * 1024 * 1024)
      respond = reply(200, `{"wallets":[]${' '.repeat(100)}}`)
      assert.deepEqual(await (await connect({ maxResponseBytes: 114 })).wallets.list(), [])
      assert.equal(
        (await failure((await connect({ maxResponseBytes: 113 })).wallets.list())).code,
        'response_too_large',
      )
    })

    await t.test("a busy daemon's Retry-After is reported, and the call is not repeated", async () => {
      for (const [header, seconds] of [
        ['7', 7],
        ['soon', undefined],
      ] as const) {
        respond = reply(503, '{"error":true,"message":"busy"}', { 'Retry-After': header })
        const error = await failure((await connect()).wallets.list())
        assert.deepEqual([error.status, error.message, error.retryAfterSeconds], [503, 'busy', seconds])
      }
      assert.equal(requests, 2)
    })

    await t.test('an idle connection that the daemon closes is replaced', async () => {
      const used = new Set<Socket>()
      respond = ({ socket }, outgoing) => {
        if (used.has(socket)) socket.destroy()
        else outgoing.end('{"versions":["v1"]}')
        used.add(socket)
      }
      const kmd = await connect()
      assert.deepEqual(await kmd.versions(), ['v1'])
      assert.deepEqual(await kmd.versions(), ['v1'])
      assert.equal(used.size, 2)
    })

    // `fetch` manages its own connections.
    if (transport.name !== 'fetch') {
      await t.test('an operation that must not be repeated gets its own connection', async () => {
        const sockets = new Set<Socket>()
        const opened = await unlocked(({ socket }, outgoing) => {
          sockets.add(socket)
          outgoing.end('{"address":"A"}')
        })
        await opened.generateKey()
        await opened.generateKey()
        assert.equal(sockets.size, 2)
      })
    }

    await t.test(
      'a broken connection is reported, and an operation that must not be repeated is not repeated',
      async () => {
        let calls = 0
        const opened = await unlocked(({ socket }) => {
          calls++
          socket.destroy()
        })
        const error = await failure(opened.generateKey())
        assert.equal(error.code, 'connection_lost')
        const detail = transport.name === 'fetch' ? 'UND_ERR_SOCKET' : 'ECONNRESET'
        assert.equal(
          error.message,
          `the connection to ${server.address} broke before the response to GenerateKey (${detail})`,
        )
        assert.equal(error.hint, 'the operation may have taken effect: check before you repeat it')
        assert.equal(calls, 1)
      },
    )

    await t.test('an interrupted response is reported as a lost connection', async () => {
      respond = (_, outgoing) => {
        outgoing.writeHead(200, { 'Content-Length': '100' }).write('{')
        setTimeout(() => outgoing.destroy(), 20)
      }
      assert.equal((await failure((await connect()).wallets.list())).code, 'connection_lost')
      assert.equal(requests, 1)
    })

    await t.test('invalid keys are rejected before sending: some daemons would pad or truncate them', async () => {
      const opened = await unlocked(() => assert.fail('sent'))
      const kmd = await connect()
      const short = new Uint8Array(31)
      const good = new Uint8Array(32)
      const transaction = new Uint8Array(1)
      const address = 'A'.repeat(58)
      const refused = [
        opened.importKey(short),
        opened.importKey('x'.repeat(64) as unknown as Uint8Array),
        opened.importMultisig({ threshold: 1, publicKeys: [short] }),
        opened.importMultisig({ threshold: 1, publicKeys: [address] }),
        opened.signTransaction(transaction, { publicKey: short }),
        opened.signTransaction('x' as unknown as Uint8Array),
        opened.signProgram({ address, program: 'x' as unknown as Uint8Array }),
        opened.signMultisigTransaction({ transaction, publicKey: short }),
        opened.signMultisigTransaction({ transaction, publicKey: good, signer: short }),
        opened.signMultisigTransaction({ transaction, publicKey: good, partial: new Uint8Array(3) }),
        opened.signMultisigProgram({
          address,
          program: transaction,
          publicKey: good,
          partial: { v: 1, thr: 1, subsig: [{ pk: good, s: short }] },
        }),
        kmd.wallets.create({ name: 'w', password: '', masterDerivationKey: short }),
        kmd.unlock({} as { id: string }),
      ]
      for (const promise of refused) assert.equal((await failure(promise)).code, 'invalid_argument')
    })

    await t.test('a name must select exactly one wallet', async () => {
      respond = reply(200, JSON.stringify({ wallets: [wallet, { ...wallet, id: '2' }] }))
      const kmd = await connect()
      assert.equal((await failure(kmd.unlock({ name: 'x' }))).message, 'wallet "x" not found')
      assert.equal((await failure(kmd.unlock({ name: 'w' }))).message, 'several wallets are named "w"')
    })
  })
}

test('neither handles nor connections keep a process alive', async (t) => {
  const dataDir = makeDataDir()
  const daemon = await startOurs(dataDir)
  t.after(async () => {
    await daemon.stop()
    removeDataDir(dataDir)
  })
  const script = `
    import { Kmd } from ${JSON.stringify(new URL('./index.js', import.meta.url).href)}
    const kmd = await Kmd.connect(${JSON.stringify(readState(dataDir))})
    await kmd.wallets.create({ name: 'w', password: '' })
    const wallet = await kmd.unlock({ name: 'w' })
    await Promise.all([wallet.keys(), wallet.keys(), wallet.generateKey()])
    console.log('done')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  const doneAt = performance.now()
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
  assert.ok(performance.now() - doneAt < 5_000)
})
