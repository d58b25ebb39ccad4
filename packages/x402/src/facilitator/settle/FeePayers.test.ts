import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FakeNode, ok } from '../../../../algod/dist/FakeNode.test.helper.js'
import { buyer, keyOf, sponsor, sponsored } from '../../../../x402-wire/dist/payments.test.helper.js'
import * as Signer from '../../signer/Signer.js'
import { Facilitator } from '../Facilitator.js'
import { createFacilitatorHandler } from '../handler.js'
import { setUp } from '../setup.test.helper.js'

const second = keyOf(7)
const third = keyOf(8)
const signers = [sponsor, second].map(({ seed }) => Signer.fromSeed(seed))
const funded = { amount: 9_000_000, 'min-balance': 100_000 }
const empty = { amount: 100_000, 'min-balance': 100_000 }

/** A payment whose fees the key pays. */
const paidBy = ({ publicKey }: { publicKey: Uint8Array }) => sponsored({}, { snd: publicKey, rcv: publicKey })

function setAccounts(node: FakeNode, accounts: { readonly [address: string]: object }): void {
  node.on('GET account', (_, path) => ok(accounts[path.split('/').at(-1)!] ?? funded))
}

const named = (facilitator: Facilitator) =>
  facilitator
    .supported()
    .kinds.filter(({ scheme }) => scheme === 'exact')
    .map(({ extra }) => extra?.['feePayer'])

test('settles payments that name any of the accounts, each signed by its own key', async (t) => {
  const rekeyed = Signer.fromSeed(third.seed, { sender: second.address })
  const { facilitator, node } = await setUp(t, { feePayer: [signers[0]!, rekeyed] })
  for (const key of [sponsor, second]) {
    const { payload, requirements } = paidBy(key)
    assert.deepEqual((await facilitator.verify(payload, requirements)).isValid, true)
    assert.equal((await facilitator.settle(payload, requirements)).success, true, key.address)
  }
  assert.equal(node.submitted.length, 2)
  const stranger = paidBy(keyOf(9))
  const refused = await facilitator.verify(stranger.payload, stranger.requirements)
  assert.equal(refused.invalidReason, 'invalid_exact_avm_unsigned_non_facilitator')
})

test('names the first account that can pay first, on every network id, and lists all as signers', async (t) => {
  const { facilitator, node } = await setUp(t, { feePayer: signers })
  const [own, other] = [sponsor.address, second.address]
  assert.deepEqual(named(facilitator), [own, own, other, other])
  setAccounts(node, { [own]: empty })
  const { problem, warnings, feeAccounts } = await facilitator.status()
  assert.equal(problem, undefined, 'another one works')
  assert.match(warnings[0]!, new RegExp(`the fee account ${own} has 0 ALGO to spend`))
  assert.deepEqual(
    feeAccounts.map(({ address, problem: wrong }) => [address, wrong === undefined]),
    [
      [own, false],
      [other, true],
    ],
  )
  assert.deepEqual(named(facilitator), [other, other])
  assert.deepEqual(facilitator.supported().signers, { 'algorand:*': [own, other] })
})

test('health fails if no account works, and names the accounts', async (t) => {
  const { facilitator, node } = await setUp(t, { feePayer: signers })
  setAccounts(node, { [sponsor.address]: empty, [second.address]: { ...funded, 'auth-addr': third.address } })
  const { problem, warnings } = await facilitator.status()
  assert.match(problem!, new RegExp(sponsor.address))
  assert.match(warnings.join(), new RegExp(`${second.address} is authorized by a different key`))
  const all = [sponsor.address, sponsor.address, second.address, second.address]
  assert.deepEqual(named(facilitator), all, 'a seller is not left without one')
})

test('GET /supported names a working account without an earlier check', async (t) => {
  const { facilitator, node } = await setUp(t, { feePayer: signers })
  setAccounts(node, { [sponsor.address]: empty })
  const response = await createFacilitatorHandler({ facilitator })(new Request('http://f.example/supported'))
  const { kinds } = (await response.json()) as { kinds: { extra: { feePayer: string } }[] }
  assert.equal(kinds[0]!.extra.feePayer, second.address)
})

test('a payment with an empty or rekeyed fee account makes the next seller name another one', async (t) => {
  for (const [state, code] of [
    [empty, 'facilitator_fee_account_unfunded'],
    [{ ...funded, 'auth-addr': third.address }, 'facilitator_key_unavailable'],
  ] as const) {
    const { facilitator, node } = await setUp(t, { feePayer: signers })
    setAccounts(node, { [sponsor.address]: state })
    node.on('POST simulate', () => ok({ 'txn-groups': [{ 'failure-message': 'overspend' }] }))
    const { payload, requirements } = paidBy(sponsor)
    assert.equal((await facilitator.verify(payload, requirements)).invalidReason, code)
    assert.equal(named(facilitator)[0], second.address)
  }
})

test('a stuck key daemon stops only payments that name its account, before the seller does any work', async (t) => {
  let isStuck = true
  const key = signers[0]!
  const check = (): Promise<void> => (isStuck ? Promise.reject(new Error('away')) : Promise.resolve())
  const { facilitator } = await setUp(t, { feePayer: [{ ...key, check }, signers[1]!] })
  await facilitator.checkFeePayer()
  assert.equal(named(facilitator)[0], second.address)
  const stuck = paidBy(sponsor)
  const refused = await facilitator.verify(stuck.payload, stuck.requirements)
  assert.equal(refused.invalidReason, 'facilitator_key_unavailable')
  const other = paidBy(second)
  assert.equal((await facilitator.settle(other.payload, other.requirements)).success, true)
  isStuck = false
  await facilitator.checkFeePayer()
  assert.equal((await facilitator.settle(stuck.payload, stuck.requirements)).success, true)
})

test('a hanging key daemon does not delay the start if another one answers', async (t) => {
  const hung = { ...signers[0]!, check: () => new Promise<void>(() => {}) }
  const { facilitator } = await setUp(t, { feePayer: [hung, signers[1]!] })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let isStarted = false
  const starting = facilitator.checkFeePayer().then(() => {
    isStarted = true
  })
  for (let turns = 0; turns < 1_000 && !isStarted; turns++) {
    t.mock.timers.tick(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(isStarted)
  await starting
  assert.deepEqual(new Set(named(facilitator)), new Set([second.address]), 'sellers are not told to use it')
})

test('does not start if no key can sign', async (t) => {
  const check = (): Promise<void> => Promise.reject(new Error('away'))
  const { facilitator, errors } = await setUp(t, { feePayer: signers.map((signer) => ({ ...signer, check })) })
  await assert.rejects(facilitator.checkFeePayer(), /away/)
  assert.equal(errors.length, 0)
})

test('fees of one account do not count against the balance of another', async (t) => {
  const { facilitator, node } = await setUp(t, { feePayer: signers })
  // Enough for one fee. A second payment is refused while the first one is not settled.
  setAccounts(node, { [sponsor.address]: { amount: 103_000, 'min-balance': 100_000 } })
  const verify = async (key: typeof sponsor) => {
    const { payload, requirements } = paidBy(key)
    return (await facilitator.verify(payload, requirements)).invalidReason
  }
  assert.equal(await verify(sponsor), undefined)
  assert.equal(await verify(sponsor), 'facilitator_fee_account_unfunded')
  assert.equal(await verify(second), undefined)
})

test('refuses two signers of one account, and too many signers', async (t) => {
  const { chain } = await setUp(t)
  const twice = [signers[0]!, signers[0]!]
  assert.throws(() => new Facilitator({ chains: [chain], feePayer: twice }), /the same account twice/)
  const many = Array.from({ length: 33 }, (_, index) => Signer.fromSeed(keyOf(index + 50).seed))
  assert.throws(() => new Facilitator({ chains: [chain], feePayer: many }), /more than 32 signers/)
})

test('does not blame the buyer for a fee account that a node names, even if the account cannot be looked up', async (t) => {
  const { facilitator, node } = await setUp(t, { feePayer: signers[0] })
  const [own, payer] = [sponsor.address, buyer.address]
  const reasons: readonly (readonly [string, string])[] = [
    [`transaction X: overspend (account ${own}, data {MicroAlgos:5}, tried to spend {2000})`, 'unfunded'],
    [`transaction X: account ${own} balance 99000 below min 100000 (0 assets)`, 'unfunded'],
    [`transaction X: should have been authorized by ${payer} but was actually authorized by ${own}`, 'unavailable'],
    [`transaction X: overspend (account ${payer}, data {MicroAlgos:5}, tried to spend {2000})`, 'failed'],
    [`transaction X: account ${payer} balance 99000 below min 100000 (0 assets)`, 'failed'],
    [`transaction X: should have been authorized by ${own} but was actually authorized by ${payer}`, 'failed'],
  ]
  for (const account of [() => ok(funded), () => 'drop' as const]) {
    node.on('GET account', account)
    for (const [reason, expected] of reasons) {
      node.on('POST simulate', () => ok({ 'txn-groups': [{ 'failure-message': reason }] }))
      const { payload, requirements } = sponsored()
      const { invalidReason } = await facilitator.verify(payload, requirements)
      assert.equal(invalidReason!.split('_').at(-1), expected, reason)
    }
  }
})
