import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlgodError } from '@latchkey/algod'
import { Address, Program, Transaction } from '@latchkey/algorand'
import { wires } from '@latchkey/kmd-api'
import { createApp, type TestApp, unusedNode } from '../testing/TestApp.test.helper.js'
import type { NodeClient } from './NodeClient.js'

const wrong = { 'x-kmd-api-token': 'b'.repeat(64) }
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const open = (app: TestApp, ticket: string): ReturnType<TestApp['request']> =>
  app.request('POST', '/latchkey/v1/console/session', { headers: wrong, body: { ticket } })
const ticketIn = (path: string): string => path.slice(path.indexOf('#') + 1)

for (const wire of wires) {
  test(`a link opens one session, which opens no other (${wire})`, async (t) => {
    const app = createApp(t, { wire })
    const link = (await app.post('/latchkey/v1/console/link', {})).json
    assert.match(link.path, /^\/console\/#[A-Za-z0-9_-]{43}$/)
    assert.equal(link.expires_seconds, 60)
    const opened = await open(app, ticketIn(link.path))
    assert.deepEqual([opened.status, opened.json.expires_seconds], [200, 1800])
    assert.match(opened.json.session_token, /^[A-Za-z0-9_-]{43}$/)
    const again = await open(app, ticketIn(link.path))
    assert.equal(again.status, 401)
    assert.match(again.json.message, /^this console link was already used or has expired/)

    const headers = { 'x-kmd-api-token': opened.json.session_token }
    assert.equal((await app.request('GET', '/v1/wallets', { headers })).status, 200)
    assert.equal((await app.request('POST', '/latchkey/v1/console/link', { headers, body: {} })).status, 403)
    assert.equal((await app.request('POST', '/latchkey/v1/console/close', { headers, body: {} })).status, 200)
    const after = await app.request('GET', '/v1/wallets', { headers })
    assert.deepEqual([after.status, after.json.message], [401, 'invalid API token'])
  })
}

test('a link is created only with the API token', async (t) => {
  const app = createApp(t)
  const { status } = await app.request('POST', '/latchkey/v1/console/link', { headers: wrong, body: {} })
  assert.equal(status, 401)
})

test('a ticket and a session expire', async (t) => {
  const app = createApp(t)
  const late = ticketIn((await app.post('/latchkey/v1/console/link', {})).json.path)
  app.advance(60_000)
  assert.equal((await open(app, late)).status, 401)
  const { session_token } = (await open(app, app.tickets.create())).json
  const use = async (): Promise<number> =>
    (await app.request('GET', '/v1/wallets', { headers: { 'x-kmd-api-token': session_token } })).status
  app.advance(30 * 60_000 - 1)
  assert.equal(await use(), 200)
  app.advance(30 * 60_000)
  assert.equal(await use(), 401)
})

test('closing ends only the session of the request; with the API token it does nothing', async (t) => {
  const app = createApp(t)
  const [one, other] = [app.sessions.open(), app.sessions.open()]
  const close = (token: string) =>
    app.request('POST', '/latchkey/v1/console/close', { headers: { 'x-kmd-api-token': token }, body: {} })
  assert.equal((await app.post('/latchkey/v1/console/close', {})).status, 200)
  assert.ok(app.sessions.use(one))
  assert.equal((await close(one)).status, 200)
  assert.deepEqual([app.sessions.use(one) !== undefined, app.sessions.use(other) !== undefined], [false, true])
  assert.equal((await close(one)).status, 401)
})

/** A wallet with a key, and a function that signs a transaction with it. */
async function signer(t: TestContext, node?: NodeClient) {
  const app = createApp(t, { wire: 'documented', lifetimeMs: 1e9, ...(node === undefined ? {} : { node }) })
  const { id, handle } = await app.unlocked('one')
  const wallet = { wallet_handle_token: handle, wallet_password: 'secret' }
  const { address } = (await app.post('/v1/key', { wallet_handle_token: handle })).json
  const own = Address.decode(address)
  const sign = async (fields: object): Promise<string> => {
    const transaction = Transaction.encode({ type: 'pay', snd: own, ...fields } as Transaction.Transaction)
    const { status } = await app.post('/v1/transaction/sign', { ...wallet, transaction: base64(transaction) })
    assert.equal(status, 200)
    return Transaction.id(transaction)
  }
  const list = async (after?: number) => (await app.post('/latchkey/v1/signings', { after })).json
  return { app, id, wallet, own, address, sign, list }
}

test('signed transactions are listed, with amounts as text', async (t) => {
  const { app, id, address, sign, list } = await signer(t)
  assert.deepEqual((await list()).signings, [])
  const receiver = new Uint8Array(32).fill(7)
  const transactionId = await sign({ rcv: receiver, amt: 2n ** 64n - 1n, fee: 1000n })
  const { since_ms, signings } = await list(0)
  assert.ok(since_ms > 1_600_000_000_000 && signings[0].at_ms >= since_ms)
  assert.deepEqual(signings, [
    {
      number: 1,
      at_ms: signings[0].at_ms,
      wallet_id: id,
      wallet_name: 'one',
      transaction_id: transactionId,
      program: '',
      type: 'pay',
      sender: address,
      receiver: Address.encode(receiver),
      amount: '18446744073709551615',
      asset_id: '0',
      unit_name: 'ALGO',
      decimals: 6,
      fee_micro_algos: '1000',
      is_multisig: false,
      warnings: signings[0].warnings,
    },
  ])
  await sign({ amt: 1n })
  assert.deepEqual(
    (await list(1)).signings.map(({ number }: { number: number }) => number),
    [2],
  )
  await app.post('/v1/wallet/rename', { wallet_id: id, wallet_password: 'secret', wallet_name: 'new' })
  assert.equal((await list()).signings[0].wallet_name, 'new')
  await app.post('/latchkey/v1/wallet/delete', { wallet_id: id, wallet_password: 'secret' })
  assert.equal((await list()).signings[0].wallet_name, '')
})

test('failed signatures are not listed, and multisig signatures are', async (t) => {
  const { app, wallet, own, list } = await signer(t)
  const preimage = { multisig_version: 1, threshold: 1, pks: [base64(own)] }
  const handle = { wallet_handle_token: wallet.wallet_handle_token }
  const { address } = (await app.post('/v1/multisig/import', { ...handle, ...preimage })).json
  const transaction = base64(Transaction.encode({ type: 'pay', snd: Address.decode(address) }))
  const request = { ...wallet, transaction, public_key: base64(own) }
  assert.equal((await app.post('/v1/multisig/sign', { ...request, wallet_password: 'wrong' })).status, 400)
  assert.equal((await app.post('/v1/multisig/sign', { ...request, public_key: '' })).status, 400)
  assert.equal((await app.post('/v1/transaction/sign', { ...wallet, transaction })).status, 400)
  assert.deepEqual((await list()).signings, [])
  assert.equal((await app.post('/v1/multisig/sign', request)).status, 200)
  const [signed, ...others] = (await list()).signings
  assert.deepEqual([signed.sender, signed.is_multisig, others], [address, true, []])
})

const nodeWith = (asset: NodeClient['asset']): NodeClient => ({ ...unusedNode, asset })

test('assets have the names returned by the node, each queried once', async (t) => {
  const queried: bigint[] = []
  const node = nodeWith(async (assetId) => {
    queried.push(assetId)
    return { decimals: 2, unitName: `A${assetId}` }
  })
  const { sign, list } = await signer(t, node)
  for (const xaid of [7n, 8n, 7n]) await sign({ type: 'axfer', xaid, aamt: 5n })
  await sign({ amt: 1n })
  const named = (await list()).signings.map((s: { [name: string]: string }) => [
    ...[s['asset_id'], s['unit_name'], s['decimals']],
  ])
  assert.deepEqual(named, [
    ['7', 'A7', 2],
    ['8', 'A8', 2],
    ['7', 'A7', 2],
    ['0', 'ALGO', 6],
  ])
  assert.deepEqual(queried, [7n, 8n])
})

test('without a node, assets have no name and the rest is listed', async (t) => {
  const node = nodeWith(async () => {
    throw new AlgodError('unreachable', 'down')
  })
  for (const { sign, list } of [await signer(t, node), await signer(t)]) {
    await sign({ type: 'axfer', xaid: 7n, aamt: 5n })
    const [signed] = (await list()).signings
    assert.deepEqual([signed.asset_id, signed.amount, signed.unit_name, signed.decimals], ['7', '5', '', 0])
  }
})

test('signed programs are listed, including those of a multisig, and failed ones are not', async (t) => {
  const { app, wallet, own, address, list } = await signer(t)
  const handle = { wallet_handle_token: wallet.wallet_handle_token }
  const program = Buffer.from([1, 32, 1, 1, 34])
  const preimage = { multisig_version: 1, threshold: 1, pks: [base64(own)] }
  const account = (await app.post('/v1/multisig/import', { ...handle, ...preimage })).json.address
  const request = { ...wallet, address, data: base64(program) }
  assert.equal((await app.post('/v1/program/sign', { ...request, wallet_password: 'wrong' })).status, 400)
  assert.equal((await app.post('/v1/program/sign', { ...request, address: account })).status, 400)
  assert.deepEqual((await list()).signings, [])
  assert.equal((await app.post('/v1/program/sign', request)).status, 200)
  for (const use_legacy_msig of [false, true]) {
    const byMember = { ...request, address: account, public_key: base64(own), use_legacy_msig }
    assert.equal((await app.post('/v1/multisig/signprogram', byMember)).status, 200)
  }
  const { signings } = await list()
  const programAddress = Address.encode(Program.address(program))
  assert.deepEqual(
    signings.map((s: { [name: string]: unknown }) => [s['type'], s['program'], s['sender'], s['is_multisig']]),
    [
      ['program', programAddress, address, false],
      ['program', programAddress, account, true],
      ['program', programAddress, account, true],
    ],
  )
  assert.deepEqual([signings[0].transaction_id, signings[0].amount], ['', '0'])
  assert.match(signings[0].warnings[0], /until the account is rekeyed/)
})

test('other requests are served while a long list is read', async (t) => {
  const { app, own, list } = await signer(t)
  const transaction = Transaction.encode({ type: 'pay', snd: own, amt: 1n })
  for (let i = 0; i < 1_000; i++) app.context.signatureLog.add('w', transaction, false)
  let turns = 0
  let isListed = false
  const count = (): void => {
    turns++
    if (!isListed) setImmediate(count)
  }
  setImmediate(count)
  const { signings } = await list()
  isListed = true
  assert.equal(signings.length, 1_000)
  assert.ok(turns > 30, `the event loop turned ${turns} times`)
})
