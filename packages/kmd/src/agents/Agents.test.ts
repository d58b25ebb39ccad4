import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ed25519, SignedTransaction, Transaction } from '@latchkey/algorand'
import {
  count,
  key,
  keyOf,
  limit,
  network,
  openAgents,
  pay,
  rulesOf,
  startMs,
  transfer,
  usdc,
  walletId,
} from './AgentFixture.test.helper.js'

const hour = 3_600_000

test('signs up to the last unit of a limit, and not one unit more', async (t) => {
  const { create, sign, agents } = openAgents(t)
  const { id, token } = await create([limit('day', 10_000n)])
  const payment = pay(4_000n, { fee: 1_000n })
  const signed = SignedTransaction.decode(await sign(token, payment))
  assert.ok(Ed25519.verify(signed.sig!, Transaction.bytesToSign(payment.bytes), key.publicKey))
  await sign(token, pay(5_000n))
  await assert.rejects(sign(token, pay(1n)), { code: 'agent_limit_exceeded', status: 403 })
  const [use] = agents.budget(id)
  assert.deepEqual([use!.used, use!.left, use!.resetsAtMs], [10_000n, 0n, startMs + 24 * hour])
})

test('the same transaction counts once, even after a restart', async (t) => {
  const first = openAgents(t)
  const { token } = await first.create([limit('total', 100n)])
  const payment = pay(100n)
  const signature = await first.sign(token, payment)
  assert.deepEqual(await first.sign(token, payment), signature)
  await first.close()
  const second = openAgents(t, first.directory)
  assert.deepEqual(await second.sign(token, payment), signature)
  await assert.rejects(second.sign(token, pay(1n)), { code: 'agent_limit_exceeded' })
})

test('two requests in one database transaction cannot both use the last of a limit', async (t) => {
  const { create, sign } = openAgents(t)
  const { token } = await create([limit('total', 10n), limit('total', 100n, usdc)])
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => sign(token, pay(1n))))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 10)
})

test('a payment that is rolled back with its transaction is neither signed nor counted', async (t) => {
  const { create, sign, agents, database } = openAgents(t)
  const { id, token } = await create([limit('total', 10n), limit('day', 10n)])
  await sign(token, pay(1n))
  const fail = (): never => {
    assert.equal(agents.budget(id)[0]!.used, 3n, 'the payment is counted within the transaction')
    database.statement('UPDATE clock SET highest_ms = highest_ms').run()
    throw new Error('after a write')
  }
  const results = await Promise.allSettled([sign(token, pay(2n)), database.change(fail), sign(token, pay(3n))])
  assert.ok(results.every(({ status }) => status === 'rejected'))
  assert.deepEqual(
    agents.budget(id).map(({ used }) => used),
    [1n, 1n],
  )
  await sign(token, pay(9n))
  await assert.rejects(sign(token, pay(1n)), { code: 'agent_limit_exceeded' })
})

test('a revoked agent signs nothing, even if it is revoked while its reservation is written', async (t) => {
  const { create, sign, agents, stateFile } = openAgents(t)
  const { id, token } = await create([limit('total', 10n)])
  const session = agents.authenticate(token)!
  const [signing, revoking] = await Promise.allSettled([
    agents.sign(session, pay(1n), key.publicKey, {}),
    agents.revoke(id),
  ])
  assert.equal(revoking.status, 'fulfilled')
  assert.equal(signing.status, 'rejected')
  await assert.rejects(agents.sign(session, pay(1n), key.publicKey, {}), { code: 'agent_ended' })
  await assert.rejects(sign(token, pay(1n)), { code: 'agent_ended' })
  assert.equal(agents.find('shopper').state, 'revoked')
  assert.ok(readFileSync(stateFile).length > 0)
})

test('a paused agent signs nothing until it is resumed', async (t) => {
  const { create, sign, agents } = openAgents(t)
  const { id, token } = await create([limit('total', 10n)])
  await agents.pause(id)
  await assert.rejects(sign(token, pay(1n)), { code: 'agent_paused' })
  await agents.resume(id)
  await sign(token, pay(1n))
})

test('after a rotation the old token is unknown, and earlier spending still counts', async (t) => {
  const { create, sign, agents } = openAgents(t)
  const { id, token } = await create([limit('total', 10n)])
  await sign(token, pay(6n))
  const rotated = await agents.rotate(id, [key])
  assert.equal(rotated.agent.id, id)
  assert.equal(agents.authenticate(token), undefined)
  await assert.rejects(sign(rotated.token, pay(5n)), { code: 'agent_limit_exceeded' })
  await sign(rotated.token, pay(4n))
})

test('an agent ends at its expiry, and with its key or its wallet', async (t) => {
  const { create, sign, agents, clock } = openAgents(t)
  const expiring = await create([limit('total', 10n)], { expiresAtMs: startMs + 1_000 })
  clock.nowMs += 999
  await sign(expiring.token, pay(1n))
  clock.nowMs += 1
  await assert.rejects(sign(expiring.token, pay(1n)), { code: 'agent_ended' })
  await agents.tidy()
  clock.nowMs -= 1_000
  await assert.rejects(sign(expiring.token, pay(1n)), { code: 'agent_ended' })
  const ofKey = await create([limit('total', 10n)])
  await agents.keyDeleted(walletId, key.address)
  await assert.rejects(sign(ofKey.token, pay(1n)), { code: 'agent_ended' })
  const ofWallet = await create([limit('total', 10n)])
  await agents.walletDeleted(walletId)
  await assert.rejects(sign(ofWallet.token, pay(1n)), { code: 'agent_ended' })
})

test('windows roll forward, never backward', async (t) => {
  const { create, sign, clock } = openAgents(t)
  const { token } = await create([limit('hour', 10n), count('day', 3)])
  await sign(token, pay(10n))
  clock.nowMs -= 2 * hour
  await assert.rejects(sign(token, pay(1n)), { code: 'agent_limit_exceeded' })
  clock.nowMs = startMs + hour - 1
  await assert.rejects(sign(token, pay(1n)), { code: 'agent_limit_exceeded' })
  clock.nowMs = startMs + hour
  await sign(token, pay(9n))
  await sign(token, pay(1n))
  clock.nowMs = startMs + 3 * hour
  await assert.rejects(sign(token, pay(1n)), /payments\/day/)
})

test('a refusal names its rule, the amount requested, the amount left, and when enough is available', async (t) => {
  const { create, sign, clock } = openAgents(t)
  const { token } = await create([limit('day', 5_000_000n, usdc), limit('total', 1_000_000n)])
  await sign(token, transfer(2_000_000n))
  clock.nowMs += hour
  await sign(token, transfer(2_500_000n))
  const error = await sign(token, transfer(1_500_000n)).then(
    () => assert.fail(),
    (caught) => caught,
  )
  assert.equal(error.headers[0], 'Latchkey-Refusal')
  assert.deepEqual(JSON.parse(error.headers[1]), {
    ...{ code: 'agent_limit_exceeded', rule: '$5/day', unit: 'USDC', asked: '1500000', left: '500000' },
    resetsAt: new Date(startMs + 24 * hour).toISOString(),
  })
})

test('confusable and hostile names are rejected', async (t) => {
  const { create } = openAgents(t)
  await create([limit('total', 10n)], { name: 'Shop' })
  await assert.rejects(create([limit('total', 10n)], { name: 'shop ' }), { code: 'agent_name_taken' })
  for (const name of ['', ' ', 'a\nb', 'a\u202eb', 'x'.repeat(65), key.address, '\u0000']) {
    await assert.rejects(create([limit('total', 10n)], { name }), { code: 'bad_agent' })
  }
})

test('rejects a key that was not granted, and one that does not match its address', async (t) => {
  const { create, sign, agents } = openAgents(t)
  const { token } = await create([limit('total', 10n)])
  const other = keyOf(2)
  await assert.rejects(sign(token, pay(1n, { snd: other.publicKey }), other.publicKey), {
    code: 'agent_wallet_forbidden',
  })
  await assert.rejects(sign(token, pay(1n, { snd: other.publicKey })), { code: 'agent_transaction_forbidden' })
  const wrong = { address: key.address, privateKey: other.privateKey }
  const rules = rulesOf([limit('total', 10n)])
  const grant = { name: 'x', walletId, keys: [wrong], rules, expiresAtMs: undefined }
  await assert.rejects(agents.create(grant), { code: 'bad_agent' })
})

test('a token that is replaced while it signs reserves nothing, and the error explains this', async (t) => {
  const { agents, create } = openAgents(t)
  const { id, token } = await create([limit('total', 10n)])
  const session = agents.authenticate(token)!
  t.after(() => agents.release(session))
  const rotating = agents.rotate(id, [key])
  const code = 'agent_ended'
  await assert.rejects(agents.sign(session, pay(1n), key.publicKey, {}), { code, message: /replaced/ })
  await rotating
  await assert.rejects(agents.sign(session, pay(1n), key.publicKey, {}), { code, message: /replaced/ })
  assert.equal(agents.budget(id)[0]!.left, 10n)
})

test('many identical reservations at the same time are returned together', async (t) => {
  const { agents, clock, create, sign, close, directory } = openAgents(t)
  const { id, token } = await create([limit('day', 100n), limit('total', 100n), count('hour', 20)])
  for (const amount of [5n, 5n, 7n, 5n]) await sign(token, pay(amount))
  clock.nowMs += 1_000
  await sign(token, pay(11n))
  const [stored] = agents.live
  const open = agents.spending.over(stored!.number, { network, lastValid: 1_000n, after: 0, count: 10 })
  await agents.spending.giveBack(stored!, [open[0]!, open[3]!, open[2]!])
  const left = agents.budget(id).map((use) => use.left)
  assert.deepEqual(left, [84n, 84n, 18n])
  await close()
  const again = openAgents(t, directory)
  again.clock.nowMs = clock.nowMs
  assert.deepEqual(
    again.agents.budget(id).map((use) => use.left),
    left,
    'as the file has it',
  )
})
