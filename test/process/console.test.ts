/** Tests the console's operations on a real daemon with a devnet: links, sessions, lists, payments and logout. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Address, Transaction } from '@latchkey/algorand'
import { Devnet } from '@latchkey/devnet'
import { Token } from '@latchkey/kmd'
import { Kmd as Client } from '@latchkey/kmd-client'
import { freePort } from '../support/freePort.test.helper.js'
import {
  atEnd,
  exchange,
  type Json,
  type Kmd,
  startHosted,
  statusOf,
  type TestResponse,
  until,
} from './commands.test.helper.js'

type Console = {
  kmd: Kmd
  session: string
  call: (method: string, path: string, body?: unknown) => Promise<TestResponse>
}

async function devnet(t: TestContext, options: { port?: number; token?: string } = {}): Promise<Devnet> {
  const started = await Devnet.start({ port: 0, ...options })
  atEnd(t, () => started.stop())
  return started
}

/** Opens a session as the page does, with the ticket of a link. */
async function open(t: TestContext, settings: { [name: string]: unknown }, wire = 'documented'): Promise<Console> {
  const kmd = await startHosted(t, { settings, args: ['--wire', wire] })
  const client = await Client.connect({ dataDir: kmd.dataDir })
  const { url } = await client.consoleLink()
  client.close()
  assert.ok(url.startsWith(`http://127.0.0.1:${kmd.port}/console/#`))
  const trade = { ticket: new URL(url).hash.slice(1) }
  const opened = await kmd.call('POST', '/latchkey/v1/console/session', trade, { token: null })
  assert.equal(opened.status, 200, opened.text)
  const session: string = opened.json.session_token
  const again = await kmd.call('POST', '/latchkey/v1/console/session', trade, { token: null })
  assert.equal(again.status, 401)
  return { kmd, session, call: (method, path, body) => kmd.call(method, path, body, { token: session }) }
}

async function ok(response: Promise<TestResponse>): Promise<Json> {
  const { status, json, text } = await response
  assert.equal(status, 200, text)
  return json
}

for (const wire of ['documented', 'reference']) {
  test(`a session leads from a link to a confirmed payment (${wire})`, async (t) => {
    const node = await devnet(t, { token: 'n'.repeat(64) })
    const { call } = await open(t, { algod: { url: node.url, token: node.token } }, wire)

    const found = await ok(call('GET', '/latchkey/v1/node'))
    assert.deepEqual([found.is_set, found.is_reachable, found.network], [true, true, 'local'])
    assert.deepEqual([found.genesis_id, found.genesis_hash], [node.genesisId, node.genesisHash])

    const wallet = { wallet_name: 'w', wallet_driver_name: 'sqlite', wallet_password: 'secret' }
    const { id } = (await ok(call('POST', '/v1/wallet', wallet))).wallet
    const opened = await ok(call('POST', '/v1/wallet/init', { wallet_id: id, wallet_password: 'secret' }))
    const handle = { wallet_handle_token: opened.wallet_handle_token }
    const { address } = await ok(call('POST', '/v1/key', handle))
    node.fund(address, { microAlgos: 5_000_000n, microDollars: 2_500_000n })

    const [account] = (await ok(call('POST', '/latchkey/v1/accounts', { addresses: [address] }))).accounts
    // The devnet adds the balance that the two opt-ins require.
    assert.ok(BigInt(account.micro_algos) >= 5_000_000n && account.min_micro_algos === '300000')
    assert.deepEqual(
      account.assets.map(({ amount, decimals, is_frozen }: Json) => [amount, decimals, is_frozen]),
      Array(2).fill(['2500000', 6, false]),
    )
    assert.ok(account.assets.every(({ unit_name }: Json) => /^\S+$/.test(unit_name)))

    const receiver = node.accounts[0]!.address
    const transaction = Transaction.encode({
      ...{ type: 'axfer', snd: Address.decode(address), arcv: Address.decode(receiver), aamt: 1_000_000n, fee: 1000n },
      ...{ xaid: node.dollarIds[0]!, lv: node.round + 1000n, gen: node.genesisId },
      gh: new Uint8Array(Buffer.from(node.genesisHash, 'base64')),
    })
    const signed = await ok(
      call('POST', '/v1/transaction/sign', {
        ...{ ...handle, wallet_password: 'secret' },
        transaction: Buffer.from(transaction).toString('base64'),
      }),
    )
    const { signings } = await ok(call('POST', '/latchkey/v1/signings', { after: 0 }))
    const transactionId = Transaction.id(transaction)
    const { number, wallet_id, wallet_name, transaction_id, amount, decimals, unit_name } = signings[0]
    assert.deepEqual([number, wallet_id, wallet_name, transaction_id], [1, id, 'w', transactionId])
    assert.deepEqual([amount, decimals, unit_name], ['1000000', 6, account.assets[0].unit_name])
    assert.deepEqual([signings[0].sender, signings[0].receiver], [address, receiver])

    const ask = { transaction_ids: [transactionId] }
    const state = async (): Promise<Json> => (await ok(call('POST', '/latchkey/v1/transactions', ask))).transactions[0]
    assert.deepEqual(await state(), { transaction_id: transactionId, state: 'unknown', round: 0 })
    const sent = await fetch(`${node.url}/v2/transactions`, {
      method: 'POST',
      headers: { 'X-Algo-API-Token': node.token! },
      body: Buffer.from(signed.signed_transaction, 'base64'),
    })
    assert.equal(sent.status, 200, await sent.text())
    assert.deepEqual(await state(), { transaction_id: transactionId, state: 'confirmed', round: Number(node.round) })
  })
}

test('reports a node that goes down, and uses it again when it is back', async (t) => {
  const port = await freePort()
  const first = await devnet(t, { port })
  const { call } = await open(t, { algod: { url: first.url } })
  const body = { addresses: [first.dispenser.address] }
  const [account] = (await ok(call('POST', '/latchkey/v1/accounts', body))).accounts
  assert.ok(BigInt(account.micro_algos) > 0n)

  await first.stop()
  const missed = await call('POST', '/latchkey/v1/accounts', body)
  assert.deepEqual([missed.status, missed.json.error], [503, true])
  assert.ok(missed.json.message.startsWith(`the node at ${first.url} cannot be reached`), missed.text)
  const status = await ok(call('GET', '/latchkey/v1/node'))
  assert.deepEqual([status.is_set, status.is_reachable, status.message], [true, false, missed.json.message])

  await devnet(t, { port })
  assert.equal((await call('POST', '/latchkey/v1/accounts', body)).status, 200)
})

test('reports a node that requires another token, and does not reveal the token', async (t) => {
  const node = await devnet(t, { token: 'n'.repeat(64) })
  const { kmd, call } = await open(t, { algod: { url: node.url, token: 'mistaken-token' } })
  const { message } = await ok(call('GET', '/latchkey/v1/node'))
  assert.match(message, /does not accept the token \(status 401\)/)
  assert.doesNotMatch(message + kmd.log() + kmd.output(), /mistaken-token/)
})

test('without a node, the error explains how to set one', async (t) => {
  const { call } = await open(t, {})
  const { status, json } = await call('POST', '/latchkey/v1/transactions', { transaction_ids: ['A'.repeat(52)] })
  assert.equal(status, 503)
  assert.equal(json.message, 'no node is set: start the daemon with --node URL, or set "algod" in kmd_config.json')
})

test('a new API token ends every session and every link', async (t) => {
  const { kmd, call } = await open(t, {})
  const link = await kmd.ok('POST', '/latchkey/v1/console/link', {})
  assert.equal((await call('GET', '/v1/wallets')).status, 200)
  const token = Token.rotate(kmd.dataDir)
  await until('the new token', async () => (await kmd.call('GET', '/v1/wallets', undefined, { token })).status === 200)
  const after = await call('GET', '/v1/wallets')
  assert.deepEqual([after.status, after.json.message], [401, 'invalid API token'])
  const ticket = link.path.slice(link.path.indexOf('#') + 1)
  assert.equal((await kmd.call('POST', '/latchkey/v1/console/session', { ticket }, { token: null })).status, 401)
})

test('neither tickets nor sessions are written to disk', async (t) => {
  const { kmd, session, call } = await open(t, {})
  const { path } = await kmd.ok('POST', '/latchkey/v1/console/link', {})
  await call('POST', '/v1/key/export', {})
  const written = kmd.log() + kmd.output()
  assert.ok(!written.includes(session) && !written.includes(path.slice(path.indexOf('#') + 1)))
})

test('the page is sent in full for GET, and without body for HEAD', async (t) => {
  const kmd = await startHosted(t)
  const page = await fetch(`http://${kmd.address}/console`)
  assert.deepEqual([page.status, page.redirected, new URL(page.url).pathname], [200, true, '/console/'])
  const html = await page.text()
  assert.match(html, /^<!doctype html>/i)
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /^default-src 'none'; script-src 'self';/)
  // The files of the page are served too, and may be cached.
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => new URL(name!, page.url))
  for (const file of files.filter(({ protocol }) => protocol === 'http:')) {
    const response = await fetch(file)
    assert.equal(response.status, 200, file.href)
    assert.match(response.headers.get('cache-control')!, /immutable/)
    assert.ok((await response.arrayBuffer()).byteLength > 0)
  }
  const head = `HEAD /console/ HTTP/1.1\r\nHost: ${kmd.address}\r\nConnection: close\r\n\r\n`
  const received = await exchange(t, kmd.port, head)
  assert.equal(statusOf(received), 200)
  assert.ok(received.includes(`Content-Length: ${Buffer.byteLength(html)}\r\n`) && received.endsWith('\r\n\r\n'))
  const strange = await exchange(t, kmd.port, head.replace(kmd.address, 'evil.example'))
  assert.equal(statusOf(strange), 403)
})
