import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Bytes, Group, Submission } from '@latchkey/algorand'
import { FakeNode, ok, refused } from '../../../algod/dist/FakeNode.test.helper.js'
import {
  alone,
  buyer,
  feePayment,
  make,
  network,
  requirementsFor,
  sign,
  sponsor,
  sponsored,
  stranger,
  type Tx,
  transfer,
} from '../../../x402-wire/dist/payments.test.helper.js'
import { Chain } from '../chain/Chain.js'
import * as Signer from '../signer/Signer.js'
import { Facilitator } from './Facilitator.js'

import { openChain, setUp } from './setup.test.helper.js'

const dead = (message: string, at = 0) => ok({ 'txn-groups': [{ 'failure-message': message, 'failed-at': [at] }] })

test('needs at least one chain', () => {
  for (const chains of [[], undefined, [undefined]]) {
    assert.throws(() => new Facilitator({ chains: chains as never }), { code: 'invalid_option' })
  }
})

test('refuses a fee payer without an address', async (t) => {
  const { chain } = await setUp(t)
  for (const change of [{ address: undefined }, { address: 'x' }, { sender: 'x' }]) {
    const feePayer = { ...sponsor, ...change } as never
    assert.throws(() => new Facilitator({ chains: [chain], feePayer }), { code: 'invalid_option' })
  }
})

test('supported names one fee payer, always the same', async (t) => {
  const { facilitator, chain } = await setUp(t)
  const supported = facilitator.supported()
  const extra = { feePayer: sponsor.address }
  assert.deepEqual(
    supported.kinds,
    ['exact', 'upto'].flatMap((scheme) =>
      [`algorand:${Bytes.toBase64(chain.genesisHash)}`, chain.caip2].map((network) => {
        return { x402Version: 2, scheme, network, extra }
      }),
    ),
  )
  assert.deepEqual(supported.signers, { 'algorand:*': [sponsor.address] })
  assert.deepEqual(facilitator.supported(), supported)
  const { facilitator: plain } = await setUp(t, { feePayer: undefined })
  assert.equal(plain.supported().kinds[0]!.extra, undefined)
})

test('with canonical ids, supported lists the id of the standard alone', async (t) => {
  const { facilitator, chain } = await setUp(t, { networkIds: 'canonical' })
  assert.deepEqual([...new Set(facilitator.supported().kinds.map(({ network }) => network))], [chain.caip2])
  await assert.rejects(setUp(t, { networkIds: 'none' as 'both' }), /networkIds cannot be "none"/)
})

test('verify returns the payer, simulates once and submits nothing', async (t) => {
  const { facilitator, node } = await setUp(t)
  const { payload, requirements } = sponsored()
  for (let time = 0; time < 3; time++) {
    assert.deepEqual(await facilitator.verify(payload, requirements), { isValid: true, payer: buyer.address })
  }
  assert.deepEqual(node.requests, ['POST simulate'])
})

test('the simulated group lacks the fee signature, and the submitted group has it', async (t) => {
  const { facilitator, node } = await setUp(t)
  const { payload, requirements, id } = sponsored()
  assert.equal((await facilitator.verify(payload, requirements)).isValid, true)
  const { success, transaction, amount } = await facilitator.settle(payload, requirements)
  assert.deepEqual([success, transaction, amount], [true, id, '1000'])
  const [fee, payment] = Submission.decodeAll(node.submitted[0]!, 16).map(({ signed }) => signed)
  assert.ok(fee!.sig !== undefined && payment!.sig !== undefined)
  assert.equal(node.simulated[0]!.includes(Buffer.from(fee!.sig)), false)
  assert.ok(node.simulated[0]!.includes(Buffer.from(Submission.transactionBytes(fee!.txn))))
  assert.ok(node.simulated[0]!.includes(Buffer.from(Submission.encode(payment!))))
})

test('a rekeyed fee account is simulated and signed with its authorizer', async (t) => {
  const feePayer = Signer.fromSeed(stranger.seed, { sender: sponsor.address })
  const { facilitator, node } = await setUp(t, { feePayer })
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.ok(node.simulated[0]!.includes(Buffer.concat([Buffer.from('sgnr'), Buffer.of(0xc4, 32), stranger.publicKey])))
  const [fee] = Submission.decodeAll(node.submitted[0]!, 16)
  assert.equal(Address.encode(fee!.signed.sgnr!), stranger.address)
})

test('responds with the network id of the request, including its older form', async (t) => {
  const { facilitator } = await setUp(t)
  const older = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI='
  const made = sponsored()
  const requirements = requirementsFor({ network: older })
  assert.equal((await facilitator.settle(made.payload, requirements)).network, older)
  assert.equal((await facilitator.settle(made.payload, made.requirements)).network, network)
})

test('verify and settle return a code for malformed input', async (t) => {
  const { facilitator, node, errors } = await setUp(t)
  for (const junk of [undefined, null, 5, 'x', [], {}, { x402Version: 2, accepted: null, payload: null }]) {
    const verified = await facilitator.verify(junk as never, junk as never)
    assert.equal(verified.isValid, false)
    assert.match(verified.invalidReason!, /^invalid_exact_avm_/)
    const settled = await facilitator.settle(junk as never, junk as never)
    assert.deepEqual([settled.success, settled.transaction], [false, ''])
    assert.match(settled.errorReason!, /^invalid_exact_avm_/)
  }
  assert.deepEqual([node.requests, errors], [[], []])
})

test('verifies another signature of a verified payment again', async (t) => {
  const { facilitator, node } = await setUp(t)
  const [fee, payment] = Group.assign([feePayment(), transfer()]) as [Tx, Tx]
  const bare = Submission.transactionBytes(fee)
  const [right, wrong] = [make([bare, sign(payment)], 1, payment), make([bare, sign(payment, stranger)], 1, payment)]
  assert.equal((await facilitator.verify(right.payload, right.requirements)).isValid, true)
  node.on('POST simulate', () => dead('should have been authorized by', 1))
  const spoiled = await facilitator.settle(wrong.payload, wrong.requirements)
  assert.deepEqual([spoiled.success, spoiled.errorReason], [false, 'invalid_exact_avm_simulation_failed'])
  assert.equal(node.submitted.length, 0)
  assert.equal((await facilitator.settle(right.payload, right.requirements)).success, true)
})

test('does not blame the buyer for an empty fee account', async (t) => {
  const { facilitator, node } = await setUp(t)
  node.on('POST simulate', () => dead('overspend'))
  node.on('GET account', () => ok({ amount: 101_000, 'min-balance': 100_000 }))
  const { payload, requirements } = sponsored()
  const { invalidReason, invalidMessage } = await facilitator.verify(payload, requirements)
  assert.deepEqual(
    [invalidReason, /not the buyer's fault/.test(invalidMessage!)],
    ['facilitator_fee_account_unfunded', true],
  )
  assert.match((await facilitator.health())!, /the fee account .* has 0.001 ALGO to spend on fees/)
})

test('reports missing funds of the buyer, even behind the fee transaction', async (t) => {
  const { facilitator, node } = await setUp(t)
  const explained = async (message: string, made = sponsored()) => {
    node.on('POST simulate', () => dead(message))
    const { invalidReason, invalidMessage } = await facilitator.verify(made.payload, made.requirements)
    return [invalidReason, invalidMessage]
  }
  const outside = await explained('txn dead: round 101 outside of 5--50')
  assert.deepEqual(outside, [
    'invalid_exact_avm_payload_validity',
    'the payment is not valid now, only from round 100 to 200',
  ])
  assert.equal((await explained('transaction already in ledger: X'))[0], 'duplicate_settlement')
  const fees = 'txgroup had 1000 in fees, which is less than the minimum 2 * 1000'
  assert.deepEqual(await explained(fees), ['invalid_exact_avm_simulation_failed', fees])
  node.on('GET holding', () => ok({ 'asset-holding': { amount: 1, 'is-frozen': false } }))
  assert.match((await explained('underflow'))[1]!, /has 0.000001 USDC and needs 0.001; send it 0.000999 USDC/)
})

test('reports a payment that is already on the ledger as a duplicate', async (t) => {
  const { facilitator, node } = await setUp(t)
  node.on('POST simulate', () => dead('transaction already in ledger: X'))
  node.on('GET pending', () => ok({ 'pool-error': '', 'confirmed-round': 99 }))
  const { payload, requirements } = alone()
  const settled = await facilitator.settle(payload, requirements)
  assert.deepEqual([settled.success, settled.errorReason], [false, 'duplicate_settlement'])
})

test('reports itself without the address of a node if no node responds', async (t) => {
  const { facilitator, node, errors } = await setUp(t)
  node.on('POST simulate', () => 'drop')
  node.on('GET params', () => 'drop')
  const { payload, requirements, id } = sponsored()
  const { invalidReason, invalidMessage } = await facilitator.verify(payload, requirements)
  assert.equal(invalidReason, 'facilitator_node_unavailable')
  const settled = await facilitator.settle(payload, requirements)
  assert.deepEqual([settled.errorReason, settled.transaction], ['facilitator_node_unavailable', id])
  const health = await facilitator.health()
  for (const text of [invalidMessage, settled.errorMessage, health]) assert.doesNotMatch(text!, /node0|http/)
  assert.ok(errors.length >= 3)
})

test('health queries the node once per second', async (t) => {
  const { facilitator, node } = await setUp(t)
  assert.deepEqual(await Promise.all([facilitator.health(), facilitator.health()]), [undefined, undefined])
  assert.equal(node.count('GET account'), 1)
})

test('health reports a node of another network', async (t) => {
  const node = new FakeNode()
  node.on('GET params', () =>
    ok({
      'genesis-hash': Buffer.alloc(32, 1).toString('base64'),
      'genesis-id': '',
      'last-round': 1,
      'min-fee': 1,
      fee: 0,
    }),
  )
  const { facilitator } = await setUp(t, { chains: [await openChain(node)] })
  assert.match((await facilitator.health())!, /the node belongs to the local network \(algorand:AQEB/)
})

test('does not blame the buyer for a signer that fails, and neither records nor submits anything', async (t) => {
  const broken = { address: sponsor.address, sign: () => Promise.reject(new Error('the password is hunter2')) }
  const { facilitator, node, errors } = await setUp(t, { feePayer: broken })
  const { payload, requirements } = sponsored()
  const settled = await facilitator.settle(payload, requirements)
  assert.equal(settled.errorReason, 'facilitator_key_unavailable')
  assert.doesNotMatch(settled.errorMessage!, /hunter2/)
  assert.match(String(errors[0]), /hunter2/)
  assert.equal(node.submitted.length, 0)
})

test('health reports when a key cannot sign and when it can again, without the signer’s text', async (t) => {
  const key = Signer.fromSeed(sponsor.seed)
  let isAway = true
  const sign = (bytes: Uint8Array) => (isAway ? Promise.reject(new Error('the password is hunter2')) : key.sign(bytes))
  const { facilitator } = await setUp(t, { feePayer: { address: sponsor.address, sign } })
  await assert.rejects(facilitator.checkFeePayer(), /hunter2/)
  const { problem, networks } = await facilitator.status()
  assert.match(problem!, /^the fee account cannot sign/)
  assert.doesNotMatch(problem!, /hunter2/)
  assert.equal(networks.length, 1)
  assert.match(facilitator.metrics.text(), /^latchkey_facilitator_can_sign\{account="\w+"\} 0$/m)
  isAway = false
  await facilitator.checkFeePayer()
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})

test('health reports a fee account that is rekeyed to another key', async (t) => {
  const { facilitator, node } = await setUp(t)
  const auth = Signer.fromSeed(new Uint8Array(32).fill(9)).address
  node.on('GET account', () => ok({ amount: 9_000_000, 'min-balance': 100_000, 'auth-addr': auth }))
  await assert.rejects(facilitator.checkFeePayer(), { code: 'account_rekeyed' })
  assert.match((await facilitator.health())!, /is authorized by a different key/)
})

test('includes the fee balance in the metrics while it is known', async (t) => {
  const { facilitator, node } = await setUp(t)
  node.on('GET account', () => ok({ amount: 1_600_000, 'min-balance': 100_000 }))
  const { networks } = await facilitator.status()
  assert.deepEqual(
    networks.map(({ feeMicroAlgos }) => feeMicroAlgos),
    [1_500_000n],
  )
  assert.match(
    facilitator.metrics.text(),
    /^latchkey_facilitator_fee_balance_microalgos\{network="algorand:[^"]+",account="\w+"\} 1500000$/m,
  )
})

test('counts fees once per payment, and not if none was paid', async (t) => {
  const { facilitator, node } = await setUp(t, { policy: { feeMicroAlgosPerDay: 4_000n } })
  const first = sponsored()
  const results = await Promise.all(
    Array.from({ length: 5 }, () => facilitator.settle(first.payload, first.requirements)),
  )
  assert.ok(results.every(({ success }) => success))
  assert.equal(node.submitted.length, 1)
  node.on('POST submit', () => refused('overspend'))
  const failing = sponsored()
  assert.equal(
    (await facilitator.settle(failing.payload, failing.requirements)).errorReason,
    'invalid_exact_avm_settlement_failed',
  )
  node.on('POST submit', () => ok({}))
  const second = sponsored()
  assert.equal((await facilitator.settle(second.payload, second.requirements)).success, true)
  const third = sponsored()
  assert.equal((await facilitator.settle(third.payload, third.requirements)).errorReason, 'facilitator_policy_refused')
  assert.equal((await facilitator.settle(first.payload, first.requirements)).success, true, 'a second call')
  const own = alone()
  assert.equal((await facilitator.settle(own.payload, own.requirements)).success, true, 'own fee')
})

test('concurrent payments cannot exceed the fee budget', async (t) => {
  const { facilitator, node } = await setUp(t, { policy: { feeMicroAlgosPerDay: 4_000n } })
  const many = Array.from({ length: 6 }, () => sponsored())
  const results = await Promise.all(many.map((one) => facilitator.settle(one.payload, one.requirements)))
  assert.equal(results.filter(({ success }) => success).length, 2)
  assert.equal(node.submitted.length, 2)
})

test('survives an onError that throws', async (t) => {
  const { facilitator, node } = await setUp(t, {
    onError: () => {
      throw new Error('no')
    },
  })
  node.on('POST simulate', () => 'drop')
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.verify(payload, requirements)).invalidReason, 'facilitator_node_unavailable')
})

test('counts outcomes', async (t) => {
  const { facilitator } = await setUp(t)
  const { payload, requirements } = sponsored()
  await facilitator.verify(payload, requirements)
  await facilitator.settle(payload, requirements)
  await facilitator.verify(payload, requirementsFor({ amount: '5' }))
  await facilitator.health()
  const text = facilitator.metrics.text()
  for (const line of [
    'latchkey_facilitator_verify_total{outcome="valid"} 1',
    'latchkey_facilitator_verify_total{outcome="invalid_exact_avm_amount_mismatch"} 1',
    'latchkey_facilitator_settle_total{outcome="settled"} 1',
    'latchkey_facilitator_pending 0',
    `latchkey_facilitator_round{network="${network}"} 100`,
  ]) {
    assert.ok(text.split('\n').includes(line), line)
  }
})

test('has metrics of nodes, by host name', async (t) => {
  const [good, bad] = [new FakeNode(), new FakeNode()]
  for (const kind of ['GET params', 'GET status', 'POST simulate']) bad.on(kind, () => 'drop')
  const byHost = new Map([
    ['good.example', good],
    ['bad.example', bad],
  ])
  const chain = await Chain.open({
    network: 'testnet',
    nodes: [{ url: 'https://bad.example/KEY', token: 'TOKEN' }, 'https://good.example:8443/KEY'],
    fetch: (url, init) => byHost.get(new URL(url).hostname)!.fetch(url.replace('/KEY', ''), init),
  })
  const { facilitator } = await setUp(t, { chains: [chain] })
  const { payload, requirements } = sponsored()
  await facilitator.verify(payload, requirements)
  await facilitator.health()
  const lines = facilitator.metrics.text().split('\n')
  const bads = `network="${network}",node="bad.example"`
  const goods = `network="${network}",node="good.example:8443"`
  for (const line of [
    `latchkey_facilitator_node_up{${bads}} 0`,
    `latchkey_facilitator_node_up{${goods}} 1`,
    `latchkey_facilitator_node_avoided{${bads}} 1`,
    `latchkey_facilitator_node_round{${goods}} 100`,
    `latchkey_facilitator_node_rounds_behind{${goods}} 0`,
    `latchkey_facilitator_node_calls_total{${bads},outcome="failed"} 1`,
    `latchkey_facilitator_node_calls_total{${goods},outcome="failed"} 0`,
  ]) {
    assert.ok(lines.includes(line), line)
  }
  assert.ok(lines.some((line) => line.startsWith(`latchkey_facilitator_node_latency_seconds{${goods}} `)))
  assert.doesNotMatch(facilitator.metrics.text(), /KEY|TOKEN/)
})
