import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Group, Submission } from '@latchkey/algorand'
import {
  decoded,
  errorMessageOf,
  expectText,
  personOf,
  sign,
  signGroup,
  simulateBody,
  TestNode,
  unsigned,
} from '../testing/TestNode.test.helper.js'

const path = '/v2/transactions/simulate'
const newcomer = personOf(41)
const empty = { 'allow-empty-signatures': true }
const fixing = { 'allow-empty-signatures': true, 'fix-signers': true }

async function simulate(node: TestNode, signed: readonly Uint8Array[], options: { [name: string]: unknown } = {}) {
  const response = await node.post(path, simulateBody(signed, options))
  expectText(response)
  return response.json
}

/** Returns the result of the group, without its transactions. */
async function verdict(node: TestNode, signed: readonly Uint8Array[], options: { [name: string]: unknown } = {}) {
  const { 'txn-groups': groups } = await simulate(node, signed, options)
  assert.equal(groups.length, 1)
  const { 'txn-results': results, ...rest } = groups[0]
  assert.equal(results.length, signed.length)
  return rest
}

/** The fees of a group with the minimum fee, which are also reported for a failed group. */
function paid(transactions: number) {
  return { 'group-fees-paid': 1000 * transactions, 'group-usage': 1_000_000 * transactions }
}

test('a group that would succeed', async (t) => {
  await t.test('is indented JSON with fees and usage, without a trailing newline', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const txn = node.pay(person, newcomer, 500_000n)
    const signed = sign(txn, person)
    const { sig } = Submission.decodeFirst(signed).signed
    const gh = (await node.get('/versions')).json.genesis_hash_b64
    const expected = `{
  "last-round": 0,
  "txn-groups": [
    {
      "group-fees-paid": 1000,
      "group-usage": 1000000,
      "txn-results": [
        {
          "fees-paid": 1000,
          "txn-result": {
            "pool-error": "",
            "txn": {
              "sig": "${Buffer.from(sig!).toString('base64')}",
              "txn": {
                "amt": 500000,
                "fee": 1000,
                "gen": "dockernet-v1",
                "gh": "${gh}",
                "lv": 1000,
                "note": "MA==",
                "rcv": "${newcomer.address}",
                "snd": "${person.address}",
                "type": "pay"
              }
            }
          }
        }
      ]
    }
  ],
  "version": 2
}`
    for (const query of ['', '?format=json', '?format=Json']) {
      assert.equal(expectText(await node.post(path + query, simulateBody([signed]))), expected)
    }
    assert.equal(node.ledger.last.round, 0n)
    assert.equal((await node.get(`/v2/accounts/${newcomer.address}`)).json.amount, 0)
  })

  await t.test('is available in msgpack', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = sign(node.pay(person, newcomer, 500_000n), person)
    for (const format of ['msgpack', 'msgp']) {
      const response = await node.post(`${path}?format=${format}`, simulateBody([signed]))
      expectText(response, 200, 'application/msgpack')
      assert.deepEqual(decoded(response.bytes), {
        'last-round': 0n,
        'txn-groups': [
          {
            'group-fees-paid': 1000n,
            'group-usage': 1_000_000n,
            'txn-results': [{ 'fees-paid': 1000n, 'txn-result': { 'pool-error': '', txn: decoded(signed) } }],
          },
        ],
        version: 2n,
      })
    }
  })

  await t.test('is evaluated for the next round, and changes nothing', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    await node.post('/devnet/mine', { rounds: 5 })
    const txn = node.txn('acfg', person, { apar: { t: 1n }, fv: 6n, lv: 6n })
    const response = await simulate(node, [sign(txn, person)])
    assert.equal(response['last-round'], 5)
    const [{ 'txn-result': result }] = response['txn-groups'][0]['txn-results']
    assert.deepEqual([result['asset-index'], result['confirmed-round']], [1001, undefined])
    assert.equal((await node.get('/v2/assets/1001')).status, 404)
    assert.deepEqual(await verdict(node, [sign({ ...txn, fv: 7n, lv: 9n }, person)]), {
      'failed-at': [0],
      'failure-message': 'txn dead: round 6 outside of 7--9',
      ...paid(1),
    })
  })

  await t.test('shows what closing would move', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const close = await simulate(node, [sign(node.pay(a, a, 0n, { close: b.publicKey }), a)])
    // The account holds assets, so it cannot be closed.
    assert.match(close['txn-groups'][0]['failure-message'], /cannot close: 2 outstanding assets/)
    const [xaid] = [31_566_704n]
    const out = sign(node.txn('axfer', a, { xaid, arcv: b.publicKey, aamt: 1n, aclose: b.publicKey }), a)
    const { 'txn-groups': groups } = await simulate(node, [out])
    assert.equal(groups[0]['txn-results'][0]['txn-result']['asset-closing-amount'], 999_999_999_999)
  })

  await t.test('pools the fees of a group, and omits zero fees', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const signed = signGroup([
      [node.pay(a, b, 1n, { fee: 2000n }), a],
      [node.pay(b, a, 1n, { fee: undefined }), b],
    ])
    const [{ 'txn-results': results, ...rest }] = (await simulate(node, signed))['txn-groups']
    assert.deepEqual(rest, { 'group-fees-paid': 2000, 'group-usage': 2_000_000 })
    assert.deepEqual([results[0]['fees-paid'], 'fees-paid' in results[1]], [2000, false])
    const long = sign(node.pay(a, b, 1n, { note: new Uint8Array(2024), fee: 1100n }), a)
    assert.deepEqual(await verdict(node, [long]), { 'group-fees-paid': 1100, 'group-usage': 1_100_000 })
  })
})

test('a group that would fail is 200 with reason and position', async (t) => {
  await t.test('without a signature, if that is not allowed', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const bare = unsigned(node.pay(person, person, 1n))
    const { 'failed-at': at, 'failure-message': message, ...rest } = await verdict(node, [bare])
    assert.deepEqual([at, rest], [[0], paid(1)])
    assert.match(message, /invalid : signedtxn has no sig$/)
    const response = await simulate(node, [bare], empty)
    assert.deepEqual(response['eval-overrides'], { 'allow-empty-signatures': true })
    assert.equal(response['txn-groups'][0]['failure-message'], undefined)
  })

  await t.test('malformed, with the reason alone', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const closing = sign(node.pay(person, person, 1n, { close: person.publicKey }), person)
    assert.deepEqual(await verdict(node, [closing]), {
      'failed-at': [0],
      'failure-message': `transaction cannot close account to its sender ${person.address}`,
      ...paid(1),
    })
    const odd = sign(node.txn('foo', person), person)
    const reason = { 'failed-at': [0], 'failure-message': 'unknown tx type foo' }
    assert.deepEqual(await verdict(node, [odd]), { ...reason, ...paid(1) })
  })

  await t.test('rejected by the state, with the id and without the prefix of a submission', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const below = sign(node.pay(a, newcomer, 1n), a)
    const { 'failure-message': message } = await verdict(node, [below])
    assert.match(
      message,
      new RegExp(`^transaction [A-Z2-7]{52}: account ${newcomer.address} balance 1 below min 100000`),
    )
    const submitted = errorMessageOf(await node.submit(below))
    assert.equal(submitted, `TransactionPool.Remember: ${message}`)
    const group = signGroup([
      [node.pay(a, b, 1n), a],
      [node.pay(b, a, 2n ** 60n), b],
      [node.pay(a, b, 1n), a],
    ])
    const response = (await simulate(node, group))['txn-groups'][0]
    assert.deepEqual(response['failed-at'], [1])
    assert.match(response['failure-message'], /^transaction [A-Z2-7]{52}: overspend \(account /)
    // The fees are those of all members, including those after the failed one.
    assert.deepEqual(
      response['txn-results'].map((result: object) => Object.keys(result)),
      [1, 2, 3].map(() => ['fees-paid', 'txn-result']),
    )
    assert.deepEqual([response['group-fees-paid'], response['group-usage']], [3000, 3_000_000])
  })

  await t.test('for another network, with unescaped brackets', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const response = await node.post(path, simulateBody([sign(node.pay(person, person, 1n, { gen: 'other' }), person)]))
    assert.match(response.text, /"failure-message": "tx\.GenesisID <other> does not match expected <dockernet-v1>"/)
  })

  await t.test('with too low a fee, at the last member', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const group = signGroup([
      [node.pay(a, b, 1n), a],
      [node.pay(b, a, 1n, { fee: 999n }), b],
    ])
    assert.deepEqual(await verdict(node, group), {
      'failed-at': [1],
      'failure-message': 'txgroup with 1.999mA fees is less than 2mA (usage=2.000000 * base=1mA)',
      'group-fees-paid': 1999,
      'group-usage': 2_000_000,
    })
  })

  await t.test('with members without a group id, or with different ones', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const [one, two] = [node.pay(person, person, 1n), node.pay(person, person, 2n)]
    const zero = await verdict(node, [sign(one, person), sign(two, person)])
    assert.deepEqual(zero, {
      'failed-at': [0],
      'failure-message': 'transactionGroup: [0] had zero Group but was submitted in a group of 2',
      ...paid(2),
    })
    const [grouped] = Group.assign([one, two])
    const mixed = await verdict(node, [sign(grouped!, person), sign(two, person)])
    assert.deepEqual(mixed['failed-at'], [1])
    assert.match(mixed['failure-message'], /^transactionGroup: inconsistent group values: /)
  })
})

test('a group that would fail has what was known of it', async (t) => {
  const resultsOf = async (node: TestNode, signed: readonly Uint8Array[], options = {}) => {
    const [group] = (await simulate(node, signed, options))['txn-groups']
    assert.equal(typeof group['failure-message'], 'string')
    return group['txn-results'].map(({ 'txn-result': result, ...rest }: { [name: string]: object }) => ({
      ...rest,
      ...result,
      txn: undefined,
    }))
  }

  await t.test('the amount that closing would move', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    // The account holds assets, so it cannot be closed.
    const [closed] = await resultsOf(node, [sign(node.pay(a, b, 1n, { close: b.publicKey }), a)])
    assert.equal(closed['closing-amount'], 1_000_000_000_000 - 1001)
    const out = { xaid: 31_566_704n, arcv: b.publicKey, aclose: newcomer.publicKey }
    const [optedOut] = await resultsOf(node, [sign(node.txn('axfer', a, out), a)])
    assert.equal(optedOut['asset-closing-amount'], 1_000_000_000_000)
  })

  await t.test('the asset that it would create, and nothing of the members that follow', async () => {
    const node = new TestNode()
    const a = node.funded(0)
    await node.send(sign(node.pay(a, newcomer, 150_000n), a))
    // One member pays for all: the creator cannot have another asset with its balance.
    const group = signGroup([
      [node.pay(a, a, 0n, { fee: 3000n }), a],
      [node.txn('acfg', newcomer, { apar: { t: 1n }, fee: undefined }), newcomer],
      [node.txn('acfg', a, { apar: { t: 1n }, fee: undefined }), a],
    ])
    const results = await resultsOf(node, group)
    assert.deepEqual(
      results.map((result: { [name: string]: number }) => [result['fees-paid'], result['asset-index']]),
      [
        [3000, undefined],
        [undefined, 1003],
        [undefined, undefined],
      ],
    )
  })

  await t.test('the signers that were fixed, at and after the failure', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    await node.send(sign(node.pay(a, a, 0n, { rekey: b.publicKey }), a))
    const group = Group.assign([node.pay(a, b, 2n ** 63n), node.pay(a, a, 1n), node.pay(b, b, 1n)]).map(unsigned)
    const signers = async (signed: readonly Uint8Array[]) =>
      (await resultsOf(node, signed, fixing)).map((result: { [name: string]: string }) => result['fixed-signer'])
    assert.deepEqual(await signers(group), [b.address, b.address, undefined])
    const malformed = unsigned(node.pay(a, b, 1n, { close: a.publicKey }))
    assert.deepEqual(await signers([malformed]), [b.address])
  })

  await t.test('fees whose sum is beyond the largest amount', async () => {
    const node = new TestNode()
    const a = node.funded(0)
    const fee = 2n ** 64n - 1n
    const group = signGroup([
      [node.pay(a, a, 1n, { fee }), a],
      [node.pay(a, a, 2n, { fee }), a],
    ])
    assert.match((await node.post(path, simulateBody(group))).text, /"group-fees-paid": 18446744073709551615,/)
  })
})

test('an unsigned transaction may name its sender as signer, where it may be unsigned', async () => {
  const node = new TestNode()
  const person = node.funded(0)
  const named = Submission.encode({ txn: node.pay(person, person, 1n), sgnr: person.publicKey })
  assert.match((await verdict(node, [named]))['failure-message'], /AuthAddr must be different from Sender$/)
  for (const options of [empty, fixing]) assert.deepEqual(await verdict(node, [named], options), paid(1))
})

test('a failure without a single transaction at fault is 400', async (t) => {
  await t.test('an invalid signature, also where none is needed', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const wrong = Submission.encode({ txn: node.pay(person, person, 1n), sig: new Uint8Array(64).fill(1) })
    for (const options of [{}, empty, fixing]) {
      const response = await node.post(path, simulateBody([wrong], options))
      assert.equal(errorMessageOf(response), "At least one signature didn't pass verification")
    }
  })

  await t.test('an incomplete group', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const [one] = Group.assign([node.pay(person, person, 1n), node.pay(person, person, 2n)])
    const message = errorMessageOf(await node.post(path, simulateBody([sign(one!, person)])))
    assert.match(message, /^transactionGroup: incomplete group: [A-Z2-7]{52} != [A-Z2-7]{52}/)
  })
})

test('fix-signers', async (t) => {
  await t.test('fixes the signer of a rekeyed account', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    await node.send(sign(node.pay(a, a, 0n, { rekey: b.publicKey }), a))
    const bare = unsigned(node.pay(a, a, 1n))
    const { 'failed-at': at, 'failure-message': message } = await verdict(node, [bare], empty)
    assert.deepEqual(at, [0])
    assert.ok(
      message.endsWith(`should have been authorized by ${b.address} but was actually authorized by ${a.address}`),
    )
    const response = await simulate(node, [bare], fixing)
    assert.deepEqual(response['eval-overrides'], { 'allow-empty-signatures': true, 'fix-signers': true })
    assert.equal(response['txn-groups'][0]['failure-message'], undefined)
    assert.equal(response['txn-groups'][0]['txn-results'][0]['fixed-signer'], b.address)
    // The signer of a signed transaction is not changed.
    const signed = await verdict(node, [sign(node.pay(a, a, 1n), a)], fixing)
    assert.deepEqual(signed['failed-at'], [0])
  })

  await t.test('follows a rekeying within the group, and reports only changed signers', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const group = Group.assign([
      node.pay(a, a, 0n, { rekey: b.publicKey }),
      node.pay(a, newcomer, 500_000n),
      node.pay(b, a, 1n),
      node.pay(a, a, 0n, { rekey: a.publicKey }),
      node.pay(a, a, 0n),
    ]).map(unsigned)
    const { 'txn-groups': groups } = await simulate(node, group, fixing)
    assert.equal(groups[0]['failure-message'], undefined)
    assert.deepEqual(
      groups[0]['txn-results'].map((result: { [name: string]: string }) => result['fixed-signer']),
      [undefined, b.address, undefined, b.address, undefined],
    )
  })

  await t.test('needs allow-empty-signatures', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const response = await node.post(
      path,
      simulateBody([unsigned(node.pay(person, person, 1n))], { 'fix-signers': true }),
    )
    assert.equal(errorMessageOf(response), 'FixSigners requires AllowEmptySignatures to be enabled')
  })
})

test('options', async (t) => {
  await t.test('that change the rules are echoed', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = [sign(node.pay(person, person, 1n), person)]
    const logging = { 'max-log-calls': 2048, 'max-log-size': 65_536 }
    for (const [options, echoed] of [
      [{}, undefined],
      [{ 'allow-more-logging': true }, logging],
      [{ 'extra-opcode-budget': 320_000 }, { 'extra-opcode-budget': 320_000 }],
      [{ 'allow-unnamed-resources': true }, { 'allow-unnamed-resources': true }],
      [{ 'allow-empty-signatures': false, 'extra-opcode-budget': 0, 'allow-more-logging': null }, undefined],
      [
        { ...fixing, 'allow-more-logging': true, 'allow-unnamed-resources': true, 'extra-opcode-budget': 20 },
        { ...fixing, 'allow-unnamed-resources': true, 'extra-opcode-budget': 20, ...logging },
      ],
    ] as const) {
      assert.deepEqual((await simulate(node, signed, options))['eval-overrides'], echoed)
    }
    const response = await node.post(path, simulateBody(signed, { 'extra-opcode-budget': 320_001 }))
    assert.equal(errorMessageOf(response), 'extra budget 320001 > simulation extra budget limit 320000')
  })

  await t.test("of a trace are accepted as AlgoKit's debug mode sends them", async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = [sign(node.pay(person, newcomer, 1n), person)]
    const trace = { enable: true, 'scratch-change': true, 'stack-change': true, 'state-change': true }
    const response = await node.post(
      path,
      simulateBody(signed, { 'allow-more-logging': true, 'exec-trace-config': trace }),
    )
    assert.ok(
      expectText(response).startsWith(`{
  "eval-overrides": {
    "max-log-calls": 2048,
    "max-log-size": 65536
  },
  "exec-trace-config": {
    "enable": true,
    "scratch-change": true,
    "stack-change": true,
    "state-change": true
  },
  "initial-states": {},
  "last-round": 0,
  "txn-groups": [
    {
      "failed-at": [
        0
      ],
      "failure-message": "transaction `),
      response.text,
    )
    const basic = await simulate(node, signed, { 'exec-trace-config': { enable: true, 'stack-change': false } })
    assert.deepEqual([basic['exec-trace-config'], basic['initial-states']], [{ enable: true }, undefined])
    assert.equal((await simulate(node, signed, { 'exec-trace-config': {} }))['exec-trace-config'], undefined)
    for (const [name, what] of [
      ['stack-change', 'stack tracing'],
      ['scratch-change', 'scratch slot change tracing'],
      ['state-change', 'app state change tracing'],
    ] as const) {
      const rejected = await node.post(path, simulateBody(signed, { 'exec-trace-config': { [name]: true } }))
      assert.equal(errorMessageOf(rejected), `basic trace must be enabled when enabling ${what}`)
    }
  })

  await t.test('accept the last round and reject any other', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    await node.post('/devnet/mine', { rounds: 3 })
    const signed = [sign(node.pay(person, person, 1n), person)]
    for (const round of [0, 3]) assert.equal((await simulate(node, signed, { round }))['last-round'], 3)
    for (const round of [2, 4, 2n ** 64n - 1n]) {
      const response = await node.post(path, simulateBody(signed, { round }))
      assert.equal(errorMessageOf(response, 500), `ledger does not have entry ${round} (latest 3, committed 3)`)
    }
    assert.deepEqual(node.errors, [])
  })
})

test('a verified signature counts only for its own transaction and key', async () => {
  const node = new TestNode()
  const [person, other] = [node.funded(0), node.funded(1)]
  const signed = sign(node.pay(person, newcomer, 500_000n), person)
  assert.deepEqual(await verdict(node, [signed]), paid(1))
  const { sig } = Submission.decodeFirst(signed).signed
  const another = Submission.decodeFirst(sign(node.pay(person, newcomer, 500_001n), person)).signed
  const forged = [
    Submission.encode({ ...another, sig: sig! }),
    Submission.encode({ ...another, txn: node.pay(other, newcomer, 500_000n), sig: sig! }),
    Submission.encode({ ...Submission.decodeFirst(signed).signed, sgnr: other.publicKey }),
    Submission.encode({ ...Submission.decodeFirst(signed).signed, sig: another.sig! }),
  ]
  for (const one of forged) {
    const response = await node.post(path, simulateBody([one], {}))
    assert.equal(errorMessageOf(response), "At least one signature didn't pass verification")
  }
  // The signature does count for them.
  assert.deepEqual(await verdict(node, [signed]), paid(1))
})
