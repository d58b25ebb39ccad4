import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Submission } from '@latchkey/algorand'
import algosdk from 'algosdk'
import {
  bin,
  decoded,
  errorMessageOf,
  expectText,
  headersOf,
  type Person,
  personOf,
  sign,
  signGroup,
  TestNode,
  unsigned,
} from '../testing/TestNode.test.helper.js'

const newcomer = personOf(31)
const pending = '/v2/transactions/pending'

test('submitting', async (t) => {
  await t.test('responds with the id of the first transaction once it is in a block', async () => {
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

  await t.test('ignores the content type and skip-pq-address-check', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    for (const headers of [{}, { 'content-type': 'application/json' }, { 'content-type': 'application/x-binary' }]) {
      const body = sign(node.pay(person, person, 1n), person)
      const response = await node.post('/v2/transactions?skip-pq-address-check=true', body, { headers })
      assert.equal(response.status, 200)
    }
    assert.match(
      errorMessageOf(await node.post('/v2/transactions?skip-pq-address-check=perhaps')),
      /^Invalid format for parameter skip-pq-address-check: /,
    )
  })

  await t.test('rejects a malformed group before evaluation', async () => {
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
      assert.match(errorMessageOf(await node.post('/v2/transactions', body)), message)
    }
    assert.equal(node.ledger.last.round, 0n)
  })

  await t.test("a rejection is 400 with a node's message and a hint", async () => {
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
      const response = await node.submit(body)
      const { message: actual, data } = response.json
      assert.equal(expectText(response, 400).endsWith('}\n'), true)
      assert.match(actual, message)
      if (hint === undefined) assert.equal(data, undefined)
      else assert.match(data.hint, hint)
      assert.doesNotMatch(response.text, /[<>]/)
    }
    assert.equal(node.ledger.last.round, 0n)
  })

  await t.test('rejects a duplicate with its id', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = sign(node.pay(person, person, 1n), person)
    const id = await node.send(signed)
    const message = `TransactionPool.Remember: transaction already in ledger: ${id}`
    assert.equal(errorMessageOf(await node.submit(signed)), message)
  })
})

test('a confirmed transaction', async (t) => {
  await t.test('in JSON is indented, without a trailing newline', async () => {
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

  await t.test('in msgpack has the signed transaction as submitted', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const signed = sign(node.pay(person, newcomer, 100_000_000n), person)
    const id = await node.send(signed)
    for (const format of ['msgpack', 'msgp', 'MsgPack']) {
      const response = await node.get(`${pending}/${id}?format=${format}`)
      expectText(response, 200, 'application/msgpack')
      assert.deepEqual(decoded(response.bytes), { 'confirmed-round': 1n, 'pool-error': '', txn: decoded(signed) })
      const read = algosdk.decodeMsgpack(response.bytes, algosdk.modelsv2.PendingTransactionResponse)
      assert.deepEqual([read.confirmedRound, read.poolError, read.txn.txn.txID()], [1n, '', id])
    }
  })

  await t.test('shows the created asset and closing amounts', async () => {
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

  await t.test('is not found after a thousand rounds', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const id = await node.send(sign(node.pay(person, person, 1n), person))
    await node.post('/devnet/mine', { rounds: 1000 })
    assert.equal((await node.get(`${pending}/${id}`)).status, 200)
    await node.post('/devnet/mine')
    assert.equal((await node.get(`${pending}/${id}`)).status, 404)
  })
})

test('a pending transaction', async (t) => {
  await t.test('is found without a round, and listed', async () => {
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
      const response = await node.get(`${path}?format=msgpack${query}`)
      expectText(response, 200, 'application/msgpack')
      return decoded(response.bytes)
    }
    const both = { 'top-transactions': [decoded(first), decoded(second)], 'total-transactions': 2n }
    assert.deepEqual(await list(), both)
    for (const max of ['0', '2', '99', '18446744073709551615']) assert.deepEqual(await list(`&max=${max}`), both)
    assert.deepEqual(await list('&max=1'), { 'top-transactions': [decoded(first)], 'total-transactions': 2n })
    // Transactions that an account receives from are listed too, and the total is that of all accounts.
    const ofAccount = (address: string) => list('', `/v2/accounts/${address}/transactions/pending`)
    assert.deepEqual(await ofAccount(b.address), both)
    assert.deepEqual(await ofAccount(newcomer.address), { 'top-transactions': [], 'total-transactions': 2n })
    const json = (await node.get(`${pending}?max=1`)).text
    const shape = /^\{\n {2}"top-transactions": \[\n {4}\{\n {6}"sig": "[^"]+",\n {6}"txn": \{\n {8}"amt": 1,\n/
    assert.match(json, shape)
    assert.match(json, /\n {6}\}\n {4}\}\n {2}\],\n {2}"total-transactions": 2\n\}$/)
  })

  await t.test('has a pool error if it became invalid', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const { faucet } = node
    const { amount } = (await node.get(`/v2/accounts/${faucet.address}`)).json
    // The transaction spends the faucet's balance; then a funding reduces it.
    const signed = sign(node.pay(faucet, node.funded(0), BigInt(amount) - 1_000_000n), faucet)
    const id = await node.send(signed)
    assert.equal((await node.post('/devnet/fund', { address: newcomer.address, algos: 5 })).status, 200)
    const { text } = await node.get(`${pending}/${id}`)
    assert.match(text, new RegExp(`^\\{\\n {2}"pool-error": "transaction ${id}: overspend `))
    const response = decoded((await node.get(`${pending}/${id}?format=msgpack`)).bytes)
    assert.deepEqual([Object.keys(response), response.txn], [['pool-error', 'txn'], decoded(signed)])
    assert.equal((await node.get(pending)).json['total-transactions'], 0)
    await node.post('/devnet/mine')
    assert.equal((await node.get(`${pending}/${id}`)).json['confirmed-round'], undefined)
    assert.deepEqual((await node.get('/v2/blocks/1/txids')).json, { blockTxids: [] })
  })
})

test('transaction lookups', async (t) => {
  await t.test('return an empty list if none is pending', async () => {
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
    const response = await node.get(`${pending}?format=msgpack`)
    assert.deepEqual(
      Buffer.from(response.bytes).toString('latin1'),
      '\x82\xb0top-transactions\x90\xb2total-transactions\x00',
    )
  })

  await t.test('return 404 for an unknown id', async () => {
    const node = new TestNode()
    for (const query of ['', '?format=msgpack']) {
      assert.equal(
        expectText(await node.get(`${pending}/${'A'.repeat(52)}${query}`), 404),
        '{"message":"could not find the transaction in the transaction pool or in the last 1000 confirmed rounds"}\n',
      )
    }
  })

  await t.test('reject an invalid id, format or limit', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    const id = await node.send(sign(node.pay(person, person, 1n), person))
    for (const wrong of [
      'abc',
      '0',
      'A'.repeat(51),
      'A'.repeat(53),
      id.toLowerCase(),
      `${'A'.repeat(51)}1`,
      '%00',
      '1'.repeat(5000),
    ]) {
      assert.equal(
        errorMessageOf(await node.get(`${pending}/${wrong}?format=xml`)),
        'no valid transaction ID was specified',
      )
    }
    assert.equal(errorMessageOf(await node.get(`${pending}/${id}?format=xml`)), 'failed to parse the format option')
    assert.equal(errorMessageOf(await node.get(`${pending}?format=xml`)), 'failed to parse the format option')
    assert.equal(
      errorMessageOf(await node.get(`${pending}?max=abc`)),
      'Invalid format for parameter max: error binding string parameter: strconv.ParseUint: parsing "abc": invalid syntax',
    )
  })

  await t.test('responses have no header but Content-Type', async () => {
    const node = new TestNode()
    assert.deepEqual(await headersOf(node, 'GET', `${pending}?format=msgpack`), {
      'content-type': 'application/msgpack',
    })
    assert.deepEqual(await headersOf(node, 'GET', pending), { 'content-type': 'application/json' })
  })
})

test('applications get the responses of a node without any', async () => {
  const node = new TestNode()
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
      errorMessageOf(await node.get(path)),
      /^Invalid format for parameter application-id: .*"abc": invalid syntax$/,
    )
  }
})

test('the applications of an account, and boxes, are listed and looked up as on a node without any', async () => {
  const node = new TestNode()
  await node.post('/devnet/mine', { rounds: 3 })
  const list = `/v2/accounts/${newcomer.address}/applications`
  const none = '{"application-resources":[],"round":3}\n'
  for (const query of ['', '?limit=100000', '?next=7', '?limit=1000&include=params']) {
    assert.equal(expectText(await node.get(list + query)), none)
  }
  const [zero, over] = ['limit parameter must be a positive integer', 'exceeds max applications single batch limit']
  for (const [query, message] of [
    ['limit=0', zero],
    ['limit=100001', `limit 100001 ${over} 100000`],
    ['limit=1001&include=params', `limit 1001 ${over} 1000`],
    ['next=x', 'unable to parse next token: strconv.ParseUint: parsing "x": invalid syntax'],
  ] as const) {
    assert.equal(errorMessageOf(await node.get(`${list}?${query}`)), message)
  }
  assert.match(errorMessageOf(await node.get('/v2/accounts/abc/applications')), /^Invalid format for parameter address/)

  const [box, boxes] = ['/v2/applications/1/box', '/v2/applications/1/boxes']
  const form = "all arguments and box names should be of the form 'encoding:value'"
  for (const [query, message] of [
    ['', "Invalid format for parameter name: query parameter 'name' is required"],
    ['?name=', form],
    ['?name=abc', form],
    ['?name=foo:abc', 'Unknown encoding: foo'],
    ['?name=int:-1', 'Could not parse uint64 from string (-1): strconv.ParseUint: parsing "-1": invalid syntax'],
  ] as const) {
    assert.equal(errorMessageOf(await node.get(box + query)), message)
  }
  for (const name of ['str:', 'str:a:b', 'int:7', 'b64:AQ==', `addr:${newcomer.address}`]) {
    assert.equal(errorMessageOf(await node.get(`${box}?name=${name}`), 404), 'box not found')
  }
  for (const query of ['limit=1', 'next=str:a', 'prefix=str:a', 'round=3', 'include=values']) {
    assert.equal(expectText(await node.get(`${boxes}?${query}`)), '{"boxes":[],"round":3}\n')
  }
  assert.equal(expectText(await node.get(`${boxes}?round=2`)), '{"boxes":[],"round":2}\n')
  for (const query of ['max=1', 'limit=0', 'prefix=']) {
    assert.equal(expectText(await node.get(`${boxes}?${query}`)), '{"boxes":[]}\n')
  }
  assert.equal(errorMessageOf(await node.get(`${boxes}?round=4`)), 'given round is greater than the latest round')
  assert.equal(errorMessageOf(await node.get(`${boxes}?next=abc`)), `invalid next token: ${form}`)
})

test('a transaction is found by any spelling of its id that a node accepts', async () => {
  const node = new TestNode()
  const person = node.funded(0)
  const id = await node.send(sign(node.pay(person, person, 1n), person))
  const [first, last] = [id.slice(0, -1), id.slice(-1)]
  for (const letter of last === 'A' ? 'ABCP' : 'QRZ7') {
    assert.equal((await node.get(`${pending}/${first}${letter}`)).status, 200, letter)
  }
  assert.equal((await node.get(`${pending}/${id.slice(0, 20)}%0A${id.slice(20)}`)).status, 200)
  assert.match(errorMessageOf(await node.get(`${pending}/${'A'.repeat(51)}B`), 404), /^could not find the transaction/)
})

test('the creation of an asset without any parameter has no asset index, except in a simulation', async () => {
  const node = new TestNode()
  const person = node.funded(0)
  const bare = sign(node.txn('acfg', person), person)
  const [simulated] = (await node.simulate([bare])).json['txn-groups'][0]['txn-results']
  assert.equal(simulated['txn-result']['asset-index'], 1001)
  const id = await node.send(bare)
  assert.equal('asset-index' in (await node.get(`${pending}/${id}`)).json, false)
  assert.equal((await node.get('/v2/blocks/1')).json.block.txns[0].caid, 1001)
  assert.equal((await node.get('/v2/assets/1001')).status, 200)
})

test('a signer other than the sender is returned as submitted', async () => {
  const node = new TestNode()
  const [a, b] = [node.funded(0), node.funded(1)]
  await node.send(sign(node.pay(a, a, 0n, { rekey: b.publicKey }), a))
  const id = await node.send(sign(node.pay(a, a, 1n), b))
  assert.equal((await node.get(`${pending}/${id}`)).json.txn.sgnr, b.address)
  assert.equal(decoded((await node.get(`${pending}/${id}?format=msgpack`)).bytes).txn.sgnr, bin(b.publicKey))
})

test('repeated lookups', async (t) => {
  await t.test('give the same text each time, also for a simulated transaction', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const signed = sign(node.pay(a, b, 1n, { note: new Uint8Array(Buffer.from('line\nbreak')) }), a)
    const [simulated, again] = [await node.simulate([signed]), await node.simulate([signed])]
    assert.equal(expectText(again), expectText(simulated))
    const id = await node.send(signed)
    const first = expectText(await node.get(`${pending}/${id}`))
    assert.equal(expectText(await node.get(`${pending}/${id}`)), first)
    assert.deepEqual(JSON.parse(first).txn, simulated.json['txn-groups'][0]['txn-results'][0]['txn-result'].txn)
    assert.equal(first, JSON.stringify(JSON.parse(first), undefined, 2))
  })

  await t.test('give the current round after the ledger was reverted', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const signed = sign(node.pay(a, b, 1n), a)
    const before = node.ledger.snapshot()
    const id = await node.send(signed)
    assert.equal((await node.get(`${pending}/${id}`)).json['confirmed-round'], 1)
    node.ledger.restore(before)
    assert.equal((await node.get(`${pending}/${id}`)).status, 404)
    node.ledger.closeBlock()
    await node.send(signed)
    assert.equal((await node.get(`${pending}/${id}`)).json['confirmed-round'], 2)
  })

  await t.test('refuses a part of an accepted group, and its members in another order', async () => {
    const node = new TestNode()
    const [a, b] = [node.funded(0), node.funded(1)]
    const group = signGroup([
      [node.pay(a, b, 1n), a],
      [node.pay(b, a, 2n), b],
    ])
    assert.equal((await node.simulate(group)).json['txn-groups'][0]['failure-message'], undefined)
    for (const part of [group.slice(0, 1), [...group].reverse()]) {
      assert.match(errorMessageOf(await node.submit(...part)), /incomplete group/)
    }
    await node.send(...group)
  })
})
