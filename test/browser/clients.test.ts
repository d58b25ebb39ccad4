/** Tests the daemon and node clients, bundled for browsers and edge runtimes, against a real daemon and devnet. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startDevnet } from '../devnet/start.test.helper.js'
import { startDaemon } from '../support/daemon.test.helper.js'
import { bundle, call } from './bundle.test.helper.js'
import { launch } from './chromium.test.helper.js'
import { edgeSkipReason, startWorker } from './edge.test.helper.js'

const source = `
import { Algod } from '@latchkey/algod'
import { Address, Bytes, Mnemonic, Transaction } from '@latchkey/algorand'
import { Kmd } from '@latchkey/kmd-client'

/** Pays from a devnet account whose key is in the daemon. */
export async function pay({ daemon, node, mnemonic, receiver }) {
  const kmd = await Kmd.connect(daemon)
  const name = 'wallet ' + Bytes.toHex(Bytes.random(4))
  await kmd.wallets.create({ name, password: 'pässword' })
  const wallet = await kmd.unlock({ name, password: () => 'pässword' })
  const address = await wallet.importKey(Mnemonic.decode(mnemonic))
  const algod = new Algod({ nodes: [node] })
  const { genesisHash, genesisId, lastRound, minFee } = await algod.parameters()
  const before = await algod.account(receiver)
  const transaction = Transaction.encode({
    type: 'pay', snd: Address.decode(address), rcv: Address.decode(receiver), amt: 123_456n, fee: minFee,
    fv: lastRound === 0n ? 1n : lastRound, lv: lastRound + 1000n, gen: genesisId, gh: genesisHash,
    note: Bytes.random(8),
  })
  const signed = await wallet.signTransaction(transaction)
  const simulation = await algod.simulate([signed])
  const submitted = await algod.submit([signed])
  const state = await algod.transaction(Transaction.id(transaction))
  const again = await algod.submit([signed])
  const after = await algod.account(receiver)
  await wallet.deleteKey(address)
  await wallet.release()
  return {
    keys: await wallet.keys().catch(({ code }) => code),
    accepted: submitted.type, simulated: simulation?.message ?? 'accepted', state: state.type, again: again.code,
    received: String(after.microAlgos - before.microAlgos),
    holdings: (await algod.accountWithHoldings(address)).holdingCount,
  }
}

/** Returns the error codes of failures. */
export async function fail({ daemon, node, silent }) {
  const code = (promise) => promise.then(() => 'no failure', (error) => error.code ?? String(error))
  const kmd = await Kmd.connect(daemon)
  const { id } = await kmd.wallets.create({ name: 'failing ' + Bytes.toHex(Bytes.random(4)), password: 'right' })
  const gone = await Kmd.connect({ address: '127.0.0.1:1', token: daemon.token })
  const stuck = await Kmd.connect({ address: silent, token: daemon.token })
  return {
    password: await code(kmd.unlock({ id, password: 'wrong' })),
    token: await code((await Kmd.connect({ ...daemon, token: 'b'.repeat(64) })).wallets.list()),
    daemon: await code(gone.wallets.list()),
    timeout: await code(stuck.wallets.list({ timeoutMs: 50 })),
    dataDirectory: await code(Kmd.connect({ dataDir: '/tmp' })),
    node: await code(new Algod({ nodes: [{ url: 'http://127.0.0.1:1' }] }).lastRound()),
    notANode: await code(new Algod({ nodes: [{ url: node.url + '/elsewhere' }] }).lastRound()),
    failover: typeof (await new Algod({ nodes: [{ url: 'http://127.0.0.1:1' }, node] }).lastRound()),
  }
}
`

const paid = {
  keys: 'wallet_released',
  accepted: 'accepted',
  simulated: 'accepted',
  state: 'confirmed',
  again: 'already_in_ledger',
  received: '123456',
  holdings: 2,
}
const failures = {
  password: 'wrong_password',
  token: 'invalid_token',
  // Neither browsers nor workerd report that a connection was refused.
  daemon: 'connection_lost',
  timeout: 'timeout',
  dataDirectory: 'data_directory_unsupported',
  node: 'unreachable',
  notANode: 'unexpected_status',
  failover: 'bigint',
}

test('the clients bundle for browsers and edge runtimes without Node modules', async (t) => {
  for (const conditions of [undefined, ['workerd', 'worker', 'browser']]) {
    const { nodeImports, code } = await bundle(t, { source, ...(conditions && { conditions }) })
    assert.deepEqual(nodeImports, [])
    assert.doesNotMatch(code, /\bBuffer\.|\brequire\(|\bprocess\./)
  }
})

/** Serves an empty page, for its origin. */
async function servePage(t: TestContext): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>clients</title>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Returns the address of a server that accepts connections and never responds. */
async function listenSilently(t: TestContext): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function setUp(t: TestContext, origins: readonly string[]) {
  const [devnet, daemon] = await Promise.all([
    startDevnet(t),
    startDaemon({ config: { address: '127.0.0.1:0', ...cheapWallets, allowed_origins: origins } }),
  ])
  t.after(() => daemon.stop())
  const [sender, receiver] = devnet.accounts
  return {
    daemon: { address: daemon.address, token: daemon.token },
    node: { url: devnet.url, token: devnet.token },
    silent: await listenSilently(t),
    mnemonic: sender!.mnemonic,
    receiver: receiver!.address,
  }
}

const cheapWallets = {
  drivers: { sqlite: { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2 } }, ledger: { disable: true } },
}

test('in Chromium the clients pay with a key in the daemon, from an allowed origin', async (t) => {
  const origin = await servePage(t)
  const setup = await setUp(t, [origin])
  const bundled = await bundle(t, { source })
  const page = await (await launch(t)).newPage()
  await page.goto(origin)
  assert.deepEqual(await call(page, bundled, 'pay', setup), paid)
  assert.deepEqual(await call(page, bundled, 'fail', setup), failures)
})

test('pages of allowed origins can read the error code and the retry time', async (t) => {
  const origin = 'http://127.0.0.1:1'
  const { daemon } = await setUp(t, [origin])
  const request = (from: string): Promise<Response> =>
    fetch(`http://${daemon.address}/v1/wallets`, { headers: { Origin: from, 'X-KMD-API-Token': 'wrong' } })
  const exposed = 'access-control-expose-headers'
  const refused = await request(origin)
  assert.deepEqual(
    [refused.headers.get('latchkey-error'), refused.headers.get(exposed)],
    ['invalid_token', 'Latchkey-Error, Latchkey-Refusal, Latchkey-Approval, Retry-After'],
  )
  assert.equal((await request('http://other.example')).headers.get(exposed), null)
})

test('in workerd the clients pay with a key in the daemon', { skip: edgeSkipReason }, async (t) => {
  const setup = await setUp(t, [])
  const worker = await startWorker(t, { source })
  assert.deepEqual(await worker.call('pay', setup), paid)
  assert.deepEqual(await worker.call('fail', setup), failures)
})
