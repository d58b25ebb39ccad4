import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Group, Submission } from '@latchkey/algorand'
import {
  decoded,
  expectText,
  personOf,
  refusalOf,
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
  const answer = await node.post(path, simulateBody(signed, options))
  expectText(answer)
  return answer.json
}

/** What is said of the group, without its transactions. */
async function verdict(node: TestNode, signed: readonly Uint8Array[], options: { [name: string]: unknown } = {}) {
  const { 'txn-groups': groups } = await simulate(node, signed, options)
  assert.equal(groups.length, 1)
  const { 'txn-results': results, ...rest } = groups[0]
  assert.equal(results.length, signed.length)
  return rest
}

describe('what would succeed', () => {
  test('is told in JSON, indented, with fees and usage and without a newline at its end', async () => {
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

  test('is told in msgpack too', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = sign(node.pay(person, newcomer, 500_000n), person)
    for (const format of ['msgpack', 'msgp']) {
      const answer = await node.post(`${path}?format=${format}`, simulateBody([signed]))
      expectText(answer, 200, 'application/msgpack')
      assert.deepEqual(decoded(answer.bytes), {
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

  test('is evaluated as the round after the last, and nothing of it stays', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    await node.post('/devnet/mine', { rounds: 5 })
    const txn = node.txn('acfg', person, { apar: { t: 1n }, fv: 6n, lv: 6n })
    const answer = await simulate(node, [sign(txn, person)])
    assert.equal(answer['last-round'], 5)
    const [{ 'txn-result': result }] = answer['txn-groups'][0]['txn-results']
    assert.deepEqual([result['asset-index'], result['confirmed-round']], [1001, undefined])
    assert.equal((await node.get('/v2/assets/1001')).status, 404)
    assert.deepEqual(await verdict(node, [sign({ ...txn, fv: 7n, lv: 9n }, person)]), {
      'failed-at': [0],
      'failure-message': 'txn dead: round 6 outside of 7--9',
    })
  })

  test('tells what closing would move', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const close = await simulate(node, [sign(node.pay(a, a, 0n, { close: b.publicKey }), a)])
    // The account holds assets, so that it cannot go.
    assert.match(close['txn-groups'][0]['failure-message'], /cannot close: 2 outstanding assets/)
    const [xaid] = [31_566_704n]
    const out = sign(node.txn('axfer', a, { xaid, arcv: b.publicKey, aamt: 1n, aclose: b.publicKey }), a)
    const { 'txn-groups': groups } = await simulate(node, [out])
    assert.equal(groups[0]['txn-results'][0]['txn-result']['asset-closing-amount'], 999_999_999_999)
  })

  test('counts the fees of a group together, and leaves out those that are none', async () => {
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

describe('what would fail is 200 with the reason and the place', () => {
  test('without a signature, unless that is allowed', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const bare = unsigned(node.pay(person, person, 1n))
    const { 'failed-at': at, 'failure-message': message, ...rest } = await verdict(node, [bare])
    assert.deepEqual([at, rest], [[0], {}])
    assert.match(message, /invalid : signedtxn has no sig$/)
    const answer = await simulate(node, [bare], empty)
    assert.deepEqual(answer['eval-overrides'], { 'allow-empty-signatures': true })
    assert.equal(answer['txn-groups'][0]['failure-message'], undefined)
  })

  test('malformed, with the bare reason', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const closing = sign(node.pay(person, person, 1n, { close: person.publicKey }), person)
    assert.deepEqual(await verdict(node, [closing]), {
      'failed-at': [0],
      'failure-message': `transaction cannot close account to its sender ${person.address}`,
    })
    const odd = sign(node.txn('foo', person), person)
    assert.deepEqual(await verdict(node, [odd]), { 'failed-at': [0], 'failure-message': 'unknown tx type foo' })
  })

  test('refused by the state, with the id and without the prefix of submitting', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const below = sign(node.pay(a, newcomer, 1n), a)
    const { 'failure-message': message } = await verdict(node, [below])
    assert.match(
      message,
      new RegExp(`^transaction [A-Z2-7]{52}: account ${newcomer.address} balance 1 below min 100000`),
    )
    const submitted = refusalOf(await node.submit(below))
    assert.equal(submitted, `TransactionPool.Remember: ${message}`)
    const group = signGroup([
      [node.pay(a, b, 1n), a],
      [node.pay(b, a, 2n ** 60n), b],
      [node.pay(a, b, 1n), a],
    ])
    const answer = (await simulate(node, group))['txn-groups'][0]
    assert.deepEqual(answer['failed-at'], [1])
    assert.match(answer['failure-message'], /^transaction [A-Z2-7]{52}: overspend \(account /)
    // Only the one before it paid.
    assert.deepEqual(
      answer['txn-results'].map((result: object) => Object.keys(result)),
      [['fees-paid', 'txn-result'], ['txn-result'], ['txn-result']],
    )
    assert.deepEqual([answer['group-fees-paid'], answer['group-usage']], [undefined, undefined])
  })

  test('for another network, with brackets as they are', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const answer = await node.post(path, simulateBody([sign(node.pay(person, person, 1n, { gen: 'other' }), person)]))
    assert.match(answer.text, /"failure-message": "tx\.GenesisID <other> does not match expected <dockernet-v1>"/)
  })

  test('with too low a fee, blamed on the last', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const group = signGroup([
      [node.pay(a, b, 1n), a],
      [node.pay(b, a, 1n, { fee: 999n }), b],
    ])
    assert.deepEqual(await verdict(node, group), {
      'failed-at': [1],
      'failure-message': 'txgroup with 1.999mA fees is less than 2mA (usage=2.000000 * base=1mA)',
    })
  })

  test('with members that name no group, or different ones', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const [one, two] = [node.pay(person, person, 1n), node.pay(person, person, 2n)]
    const zero = await verdict(node, [sign(one, person), sign(two, person)])
    assert.deepEqual(zero, {
      'failed-at': [0],
      'failure-message': 'transactionGroup: [0] had zero Group but was submitted in a group of 2',
    })
    const [grouped] = Group.assign([one, two])
    const mixed = await verdict(node, [sign(grouped!, person), sign(two, person)])
    assert.deepEqual(mixed['failed-at'], [1])
    assert.match(mixed['failure-message'], /^transactionGroup: inconsistent group values: /)
  })
})

describe('what cannot be blamed on one transaction is 400', () => {
  test('a signature that is there and wrong, also where none is needed', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const wrong = Submission.encode({ txn: node.pay(person, person, 1n), sig: new Uint8Array(64).fill(1) })
    for (const options of [{}, empty, fixing]) {
      const answer = await node.post(path, simulateBody([wrong], options))
      assert.equal(refusalOf(answer), "At least one signature didn't pass verification")
    }
  })

  test('a group that is not all there', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const [one] = Group.assign([node.pay(person, person, 1n), node.pay(person, person, 2n)])
    const message = refusalOf(await node.post(path, simulateBody([sign(one!, person)])))
    assert.match(message, /^transactionGroup: incomplete group: [A-Z2-7]{52} != [A-Z2-7]{52}/)
  })
})

describe('signers that are put right', () => {
  test('of an account rekeyed before', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    await node.send(sign(node.pay(a, a, 0n, { rekey: b.publicKey }), a))
    const bare = unsigned(node.pay(a, a, 1n))
    const { 'failed-at': at, 'failure-message': message } = await verdict(node, [bare], empty)
    assert.deepEqual(at, [0])
    assert.ok(
      message.endsWith(`should have been authorized by ${b.address} but was actually authorized by ${a.address}`),
    )
    const answer = await simulate(node, [bare], fixing)
    assert.deepEqual(answer['eval-overrides'], { 'allow-empty-signatures': true, 'fix-signers': true })
    assert.equal(answer['txn-groups'][0]['failure-message'], undefined)
    assert.equal(answer['txn-groups'][0]['txn-results'][0]['fixed-signer'], b.address)
    // One that is signed is taken at its word.
    const signed = await verdict(node, [sign(node.pay(a, a, 1n), a)], fixing)
    assert.deepEqual(signed['failed-at'], [0])
  })

  test('follow a rekeying within the group, and only what differs is told', async () => {
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

  test('need empty signatures to be allowed', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const answer = await node.post(
      path,
      simulateBody([unsigned(node.pay(person, person, 1n))], { 'fix-signers': true }),
    )
    assert.equal(refusalOf(answer), 'FixSigners requires AllowEmptySignatures to be enabled')
  })
})

describe('the options', () => {
  test('that change the rules are told again, each on its own and all together', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = [sign(node.pay(person, person, 1n), person)]
    const logging = { 'max-log-calls': 2048, 'max-log-size': 65_536 }
    for (const [options, told] of [
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
      assert.deepEqual((await simulate(node, signed, options))['eval-overrides'], told)
    }
    const answer = await node.post(path, simulateBody(signed, { 'extra-opcode-budget': 320_001 }))
    assert.equal(refusalOf(answer), 'extra budget 320001 > simulation extra budget limit 320000')
  })

  test('that ask for a trace are taken as the debug mode of tools sends them', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = [sign(node.pay(person, newcomer, 1n), person)]
    const trace = { enable: true, 'scratch-change': true, 'stack-change': true, 'state-change': true }
    const answer = await node.post(
      path,
      simulateBody(signed, { 'allow-more-logging': true, 'exec-trace-config': trace }),
    )
    assert.ok(
      expectText(answer).startsWith(`{
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
      answer.text,
    )
    const basic = await simulate(node, signed, { 'exec-trace-config': { enable: true, 'stack-change': false } })
    assert.deepEqual([basic['exec-trace-config'], basic['initial-states']], [{ enable: true }, undefined])
    assert.equal((await simulate(node, signed, { 'exec-trace-config': {} }))['exec-trace-config'], undefined)
    for (const [name, what] of [
      ['stack-change', 'stack tracing'],
      ['scratch-change', 'scratch slot change tracing'],
      ['state-change', 'app state change tracing'],
    ] as const) {
      const refused = await node.post(path, simulateBody(signed, { 'exec-trace-config': { [name]: true } }))
      assert.equal(refusalOf(refused), `basic trace must be enabled when enabling ${what}`)
    }
  })

  test('may name the last round; any other is out of reach', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    await node.post('/devnet/mine', { rounds: 3 })
    const signed = [sign(node.pay(person, person, 1n), person)]
    for (const round of [0, 3]) assert.equal((await simulate(node, signed, { round }))['last-round'], 3)
    for (const round of [2, 4, 2n ** 64n - 1n]) {
      const answer = await node.post(path, simulateBody(signed, { round }))
      assert.equal(refusalOf(answer, 500), `ledger does not have entry ${round} (latest 3, committed 3)`)
    }
    assert.deepEqual(node.errors, [])
  })
})
