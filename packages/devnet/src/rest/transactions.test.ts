import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Submission } from '@latchkey/algorand'
import algosdk from 'algosdk'
import {
  bin,
  decoded,
  expectText,
  headersOf,
  type Person,
  personOf,
  refusalOf,
  sign,
  signGroup,
  TestNode,
  unsigned,
} from '../testing/TestNode.test.helper.js'

const newcomer = personOf(31)
const pending = '/v2/transactions/pending'

describe('submitting', () => {
  test('is answered with the id of the first, and by then it is in a block', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const signed = signGroup([
      [node.pay(a, b, 1n), a],
      [node.pay(b, a, 2n), b],
    ])
    const ids = signed.map((bytes) => algosdk.decodeMsgpack(bytes, algosdk.SignedTransaction).txn.txID())
    assert.equal(expectText(await node.submit(...signed)), `{"txId":"${ids[0]}"}\n`)
    for (const id of ids) assert.equal((await node.get(`${pending}/${id}`)).json['confirmed-round'], 1)
  })

  test('does not ask what the body is said to be, nor whether an address is checked', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    for (const headers of [{}, { 'content-type': 'application/json' }, { 'content-type': 'application/x-binary' }]) {
      const body = sign(node.pay(person, person, 1n), person)
      const answer = await node.post('/v2/transactions?skip-pq-address-check=true', body, { headers })
      assert.equal(answer.status, 200)
    }
    assert.match(
      refusalOf(await node.post('/v2/transactions?skip-pq-address-check=perhaps')),
      /^Invalid format for parameter skip-pq-address-check: /,
    )
  })

  test('what is no group is refused before the ledger is asked', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const one = sign(node.pay(person, person, 1n), person)
    for (const [body, message] of [
      [Buffer.alloc(0), /^empty txgroup$/],
      [Buffer.concat(Array.from({ length: 17 }, () => one)), /^max group size is 16$/],
      [Buffer.from('garbage'), /^msgpack decode error \[pos [0-9]+\]: /],
      [Buffer.from('{"txn":{}}'), /^msgpack decode error \[pos [0-9]+\]: /],
      [Buffer.from([0xc1]), /^msgpack decode error \[pos [0-9]+\]: /],
      [one.slice(0, -3), /^msgpack decode error \[pos [0-9]+\]: /],
      [Buffer.concat([one, Buffer.from([0x01])]), /^msgpack decode error \[pos [0-9]+\]: /],
      [Buffer.from([0x81, 0xa3, 0x7a, 0x7a, 0x7a, 0x01]), /^msgpack decode error \[pos [0-9]+\]: .*zzz/],
      [Buffer.from([0xc0]), /^transaction \{.*\} invalid : unknown tx type /],
      [Buffer.from([0x80]), /^transaction \{.*\} invalid : unknown tx type /],
    ] as const) {
      assert.match(refusalOf(await node.post('/v2/transactions', body)), message)
    }
    assert.equal(node.ledger.last.round, 0n)
  })

  test('what the ledger refuses is 400 with the words of a node, and a hint beside them', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const cases: [Uint8Array, RegExp, RegExp | undefined][] = [
      [unsigned(node.pay(person, person, 1n)), /^transaction \{.*\} invalid : signedtxn has no sig$/, undefined],
      [
        sign(node.pay(person, person, 1n, { fee: 999n }), person),
        /^TransactionPool\.Remember: txgroup with 999uA fees/,
        /raise the fee/,
      ],
      [
        sign(node.pay(person, newcomer, 1n), person),
        /^TransactionPool\.Remember: transaction [A-Z2-7]{52}: account .* balance 1 below min 100000/,
        /99999 microAlgos more/,
      ],
      [
        Submission.encode({ txn: node.pay(person, person, 1n), sig: new Uint8Array(64).fill(1) }),
        /^At least one signature didn't pass verification$/,
        /is not signed by/,
      ],
      [
        sign(node.pay(person, person, 1n, { gen: 'mainnet-v1.0' }), person),
        /^TransactionPool\.Remember: tx\.GenesisID <mainnet-v1\.0> does not match/,
        undefined,
      ],
    ]
    for (const [body, message, hint] of cases) {
      const answer = await node.submit(body)
      const { message: said, data } = answer.json
      assert.equal(expectText(answer, 400).endsWith('}\n'), true)
      assert.match(said, message)
      if (hint === undefined) assert.equal(data, undefined)
      else assert.match(data.hint, hint)
      assert.doesNotMatch(answer.text, /[<>]/)
    }
    assert.equal(node.ledger.last.round, 0n)
  })

  test('the same a second time is refused with its id', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = sign(node.pay(person, person, 1n), person)
    const id = await node.send(signed)
    const message = `TransactionPool.Remember: transaction already in ledger: ${id}`
    assert.equal(refusalOf(await node.submit(signed)), message)
  })
})

describe('a confirmed transaction', () => {
  test('in JSON is indented, without a newline at its end', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const txn = node.pay(person, newcomer, 100_000_000n, { lv: 1000n })
    const signed = sign(txn, person)
    const id = await node.send(signed)
    const gh = (await node.get('/versions')).json.genesis_hash_b64
    const { sig } = Submission.decodeFirst(signed).signed
    for (const query of ['', '?format=json', '?format=JSON']) {
      assert.equal(
        expectText(await node.get(`${pending}/${id}${query}`)),
        `{
  "confirmed-round": 1,
  "pool-error": "",
  "txn": {
    "sig": "${Buffer.from(sig!).toString('base64')}",
    "txn": {
      "amt": 100000000,
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
}`,
      )
    }
  })

  test('in msgpack has the signed transaction as it was sent', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = sign(node.pay(person, newcomer, 100_000_000n), person)
    const id = await node.send(signed)
    for (const format of ['msgpack', 'msgp', 'MsgPack']) {
      const answer = await node.get(`${pending}/${id}?format=${format}`)
      expectText(answer, 200, 'application/msgpack')
      assert.deepEqual(decoded(answer.bytes), { 'confirmed-round': 1n, 'pool-error': '', txn: decoded(signed) })
      const read = algosdk.decodeMsgpack(answer.bytes, algosdk.modelsv2.PendingTransactionResponse)
      assert.deepEqual([read.confirmedRound, read.poolError, read.txn.txn.txID()], [1n, '', id])
    }
  })

  test('tells the asset it made, and what closing moved', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const send = async (person: Person, type: string, fields: object) => {
      const id = await node.send(sign(node.txn(type, person, fields), person))
      const { txn, ...rest } = (await node.get(`${pending}/${id}`)).json
      assert.equal(txn.txn.type, type)
      return rest
    }
    const apar = { t: 1000n, am: new Uint8Array(32).fill(7), c: a.publicKey, un: 'TST' }
    assert.deepEqual(await send(a, 'acfg', { apar }), { 'asset-index': 1001, 'confirmed-round': 1, 'pool-error': '' })
    const xaid = 1001n
    assert.deepEqual(await send(b, 'axfer', { xaid, arcv: b.publicKey }), { 'confirmed-round': 2, 'pool-error': '' })
    await send(a, 'axfer', { xaid, arcv: b.publicKey, aamt: 100n })
    assert.deepEqual(await send(b, 'axfer', { xaid, arcv: a.publicKey, aamt: 10n, aclose: a.publicKey }), {
      'asset-closing-amount': 90,
      'confirmed-round': 4,
      'pool-error': '',
    })
    await send(a, 'pay', { rcv: newcomer.publicKey, amt: 500_000n })
    assert.deepEqual(await send(newcomer, 'pay', { rcv: a.publicKey, amt: 1n, close: b.publicKey }), {
      'closing-amount': 498_999,
      'confirmed-round': 6,
      'pool-error': '',
    })
  })

  test('is forgotten after a thousand rounds', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const id = await node.send(sign(node.pay(person, person, 1n), person))
    await node.post('/devnet/mine', { rounds: 1000 })
    assert.equal((await node.get(`${pending}/${id}`)).status, 200)
    await node.post('/devnet/mine')
    assert.equal((await node.get(`${pending}/${id}`)).status, 404)
  })
})

describe('a transaction that waits', () => {
  test('is there without a round, and in the lists', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const [a, b] = [node.funded(0), node.funded(1)]
    const first = sign(node.pay(a, b, 1n), a)
    const second = sign(node.pay(b, a, 2n), b)
    const id = await node.send(first)
    await node.send(second)
    const { text } = await node.get(`${pending}/${id}`)
    assert.ok(text.startsWith('{\n  "pool-error": "",\n  "txn": {\n    "sig": '), text)
    assert.deepEqual(decoded((await node.get(`${pending}/${id}?format=msgpack`)).bytes), {
      'pool-error': '',
      txn: decoded(first),
    })
    const list = async (query = '', path = pending) => {
      const answer = await node.get(`${path}?format=msgpack${query}`)
      expectText(answer, 200, 'application/msgpack')
      return decoded(answer.bytes)
    }
    const both = { 'top-transactions': [decoded(first), decoded(second)], 'total-transactions': 2n }
    assert.deepEqual(await list(), both)
    for (const max of ['0', '2', '99', '18446744073709551615']) assert.deepEqual(await list(`&max=${max}`), both)
    assert.deepEqual(await list('&max=1'), { 'top-transactions': [decoded(first)], 'total-transactions': 2n })
    const own = await list('', `/v2/accounts/${b.address}/transactions/pending`)
    assert.deepEqual(own, { 'top-transactions': [decoded(second)], 'total-transactions': 1n })
    const json = (await node.get(`${pending}?max=1`)).text
    const shape = /^\{\n {2}"top-transactions": \[\n {4}\{\n {6}"sig": "[^"]+",\n {6}"txn": \{\n {8}"amt": 1,\n/
    assert.match(json, shape)
    assert.match(json, /\n {6}\}\n {4}\}\n {2}\],\n {2}"total-transactions": 2\n\}$/)
  })

  test('and was made impossible since is told with the reason', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const { dispenser } = node
    const { amount } = (await node.get(`/v2/accounts/${dispenser.address}`)).json
    // All that the dispenser can spare; then a funding takes some of it away.
    const signed = sign(node.pay(dispenser, node.funded(0), BigInt(amount) - 1_000_000n), dispenser)
    const id = await node.send(signed)
    assert.equal((await node.post('/devnet/fund', { address: newcomer.address, algos: 5 })).status, 200)
    const { text } = await node.get(`${pending}/${id}`)
    assert.match(text, new RegExp(`^\\{\\n {2}"pool-error": "transaction ${id}: overspend `))
    const answer = decoded((await node.get(`${pending}/${id}?format=msgpack`)).bytes)
    assert.deepEqual([Object.keys(answer), answer.txn], [['pool-error', 'txn'], decoded(signed)])
    assert.equal((await node.get(pending)).json['total-transactions'], 0)
    await node.post('/devnet/mine')
    assert.equal((await node.get(`${pending}/${id}`)).json['confirmed-round'], undefined)
    assert.deepEqual((await node.get('/v2/blocks/1/txids')).json, { blockTxids: [] })
  })
})

describe('asking after transactions', () => {
  test('when none waits gives an empty list', async () => {
    const node = new TestNode()
    const expected = '{\n  "top-transactions": [],\n  "total-transactions": 0\n}'
    for (const path of [
      pending,
      `${pending}/`,
      `${pending}?max=1`,
      `/v2/accounts/${newcomer.address}/transactions/pending`,
    ]) {
      assert.equal(expectText(await node.get(path)), expected)
    }
    const answer = await node.get(`${pending}?format=msgpack`)
    assert.deepEqual(
      Buffer.from(answer.bytes).toString('latin1'),
      '\x82\xb0top-transactions\x90\xb2total-transactions\x00',
    )
  })

  test('that nobody knows is 404', async () => {
    const node = new TestNode()
    for (const query of ['', '?format=msgpack']) {
      assert.equal(
        expectText(await node.get(`${pending}/${'A'.repeat(52)}${query}`), 404),
        '{"message":"could not find the transaction in the transaction pool or in the last 1000 confirmed rounds"}\n',
      )
    }
  })

  test('by what is no id, in no format, or no number of them, is refused', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const id = await node.send(sign(node.pay(person, person, 1n), person))
    for (const wrong of [
      'abc',
      '0',
      'A'.repeat(51),
      'A'.repeat(53),
      id.toLowerCase(),
      `${'A'.repeat(51)}B`,
      '%00',
      '1'.repeat(5000),
    ]) {
      assert.equal(refusalOf(await node.get(`${pending}/${wrong}?format=xml`)), 'no valid transaction ID was specified')
    }
    assert.equal(refusalOf(await node.get(`${pending}/${id}?format=xml`)), 'failed to parse the format option')
    assert.equal(refusalOf(await node.get(`${pending}?format=xml`)), 'failed to parse the format option')
    assert.equal(
      refusalOf(await node.get(`${pending}?max=abc`)),
      'Invalid format for parameter max: error binding string parameter: strconv.ParseUint: parsing "abc": invalid syntax',
    )
  })

  test('answers carry no header but their type', async () => {
    const node = new TestNode()
    assert.deepEqual(await headersOf(node, 'GET', `${pending}?format=msgpack`), {
      'content-type': 'application/msgpack',
    })
    assert.deepEqual(await headersOf(node, 'GET', pending), { 'content-type': 'application/json' })
  })
})

test('programs and applications have the answers of a node without any', async () => {
  const node = new TestNode()
  for (const name of ['compile', 'disassemble', 'dryrun']) {
    assert.equal(
      expectText(await node.post(`/v2/teal/${name}`, 'int 1'), 404, 'text/plain; charset=UTF-8'),
      `/teal/${name} was not enabled in the configuration file by setting the EnableDeveloperAPI to true`,
    )
  }
  const account = `/v2/accounts/${newcomer.address}/applications`
  assert.equal(expectText(await node.get('/v2/applications/1'), 404), '{"message":"application does not exist"}\n')
  assert.equal(expectText(await node.get('/v2/applications/1/boxes')), '{"boxes":[]}\n')
  assert.equal(expectText(await node.get('/v2/applications/1/box?name=str:a'), 404), '{"message":"box not found"}\n')
  assert.equal(expectText(await node.get(`${account}/1`), 404), '{"message":"account application info not found"}\n')
  for (const path of [
    '/v2/applications/abc',
    '/v2/applications/abc/boxes',
    '/v2/applications/abc/box',
    `${account}/abc`,
  ]) {
    assert.match(
      refusalOf(await node.get(path)),
      /^Invalid format for parameter application-id: .*"abc": invalid syntax$/,
    )
  }
})

test('a signer who is not the sender is told as it was sent', async () => {
  const node = new TestNode()
  const [a, b] = [node.funded(0), node.funded(1)]
  await node.send(sign(node.pay(a, a, 0n, { rekey: b.publicKey }), a))
  const id = await node.send(sign(node.pay(a, a, 1n), b))
  assert.equal((await node.get(`${pending}/${id}`)).json.txn.sgnr, b.address)
  assert.equal(decoded((await node.get(`${pending}/${id}?format=msgpack`)).bytes).txn.sgnr, bin(b.publicKey))
})
