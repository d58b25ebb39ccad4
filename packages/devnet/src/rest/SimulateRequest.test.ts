import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BodyError } from '@latchkey/http'
import algosdk from 'algosdk'
import { errorMessageOf, expectText, sign, signGroup, simulateBody, TestNode } from '../testing/TestNode.test.helper.js'

const path = '/v2/transactions/simulate'

function setUp() {
  const node = new TestNode()
  const person = node.funded(0)
  const signed = sign(node.pay(person, person, 5n), person)
  const plain = algosdk.msgpackRawDecode(signed)
  const post = (body: Uint8Array | string, headers = {}) => node.post(path, body, { headers })
  return { node, person, signed, plain, post }
}

/** Encodes the body like algosdk. */
function sdkBody(groups: readonly (readonly Uint8Array[])[], options: object = {}): Uint8Array {
  return algosdk.encodeMsgpack(
    new algosdk.modelsv2.SimulateRequest({
      txnGroups: groups.map(
        (txns) =>
          new algosdk.modelsv2.SimulateRequestTransactionGroup({
            txns: txns.map((bytes) => algosdk.decodeMsgpack(bytes, algosdk.SignedTransaction)),
          }),
      ),
      ...options,
    }),
  )
}

test('request body', async (t) => {
  await t.test('is read in msgpack and in JSON with any content type', async () => {
    const { signed, post } = setUp()
    const { text } = await post(sdkBody([[signed]]))
    for (const type of [undefined, 'application/json', 'application/msgpack', 'application/x-binary']) {
      const headers = type === undefined ? {} : { 'content-type': type }
      for (const body of [sdkBody([[signed]]), simulateBody([signed])]) {
        assert.equal(expectText(await post(body, headers)), text)
      }
    }
  })

  await t.test('reads every option of algosdk in msgpack', async () => {
    const { node, signed } = setUp()
    const options = {
      allowEmptySignatures: true,
      allowMoreLogging: true,
      allowUnnamedResources: true,
      extraOpcodeBudget: 20,
      fixSigners: true,
      round: 0,
      execTraceConfig: new algosdk.modelsv2.SimulateTraceConfig({
        enable: true,
        stackChange: true,
        scratchChange: true,
        stateChange: true,
      }),
    }
    const { bytes } = await node.post(`${path}?format=msgpack`, sdkBody([[signed]], options))
    const response = algosdk.decodeMsgpack(bytes, algosdk.modelsv2.SimulateResponse)
    assert.deepEqual([response.version, response.lastRound, response.txnGroups[0]?.failureMessage], [2, 0n, undefined])
    const { evalOverrides, execTraceConfig } = response
    assert.deepEqual(
      [evalOverrides?.allowEmptySignatures, evalOverrides?.allowUnnamedResources, evalOverrides?.fixSigners],
      [true, true, true],
    )
    assert.deepEqual(
      [evalOverrides?.extraOpcodeBudget, evalOverrides?.maxLogCalls, evalOverrides?.maxLogSize],
      [20, 2048, 65_536],
    )
    assert.deepEqual([execTraceConfig?.enable, execTraceConfig?.stateChange], [true, true])
  })

  await t.test('treats nil and null as absent', async () => {
    const { signed, plain, post } = setUp()
    const { text } = await post(simulateBody([signed]))
    const nils = { round: null, 'fix-signers': null, 'exec-trace-config': null, 'extra-opcode-budget': null }
    const packed = algosdk.msgpackRawEncode({ 'txn-groups': [{ txns: [plain] }], ...nils })
    assert.equal(expectText(await post(packed)), text)
    assert.equal(expectText(await post(simulateBody([signed], nils))), text)
    const inside = { 'exec-trace-config': { enable: null } }
    assert.equal(expectText(await post(simulateBody([signed], inside))), text)
    const packedInside = algosdk.msgpackRawEncode({ 'txn-groups': [{ txns: [plain] }], ...inside })
    assert.equal(expectText(await post(packedInside)), text)
  })

  await t.test('keeps integers above 2^53 exact', async () => {
    const { node, person } = setUp()
    const group = [sign(node.pay(person, person, 2n ** 64n - 1n), person)]
    for (const body of [simulateBody(group), sdkBody([group])]) {
      const { text } = await node.post(path, body)
      assert.match(text, /\n {16}"amt": 18446744073709551615,\n/)
      assert.match(text, /"failure-message": "transaction [A-Z2-7]{52}: overspend/)
    }
  })

  await t.test('rejects anything but one group of one to sixteen transactions', async () => {
    const { node, person, signed, post } = setUp()
    const seventeen = Array.from({ length: 17 }, () => signed)
    const sixteen = signGroup(Array.from({ length: 16 }, () => [node.pay(person, person, 1n), person] as const))
    assert.equal((await post(sdkBody([sixteen]))).status, 200)
    for (const [groups, message] of [
      [[], 'expected 1 transaction group, got 0'],
      [[[signed], [signed]], 'expected 1 transaction group, got 2'],
      [[[]], 'empty txgroup'],
      [[seventeen], 'transaction group size 17 exceeds protocol max 16'],
    ] as const) {
      assert.equal(errorMessageOf(await post(sdkBody(groups))), message)
    }
    assert.equal(errorMessageOf(await post('{}')), 'expected 1 transaction group, got 0')
    assert.equal(errorMessageOf(await post(Buffer.from([0x80]))), 'expected 1 transaction group, got 0')
    assert.equal(errorMessageOf(await post('{"txn-groups":[{}]}')), 'empty txgroup')
    const many = JSON.stringify({ 'txn-groups': Array.from({ length: 101 }, () => ({})) })
    assert.equal(errorMessageOf(await post(many)), 'failed to decode object: more than 100 in a list')
    const packed = algosdk.msgpackRawEncode({ 'txn-groups': Array.from({ length: 101 }, () => ({})) })
    assert.equal(errorMessageOf(await post(packed)), 'failed to decode object: more than 100 in a list')
  })

  await t.test('rejects an empty body with EOF', async () => {
    assert.equal(errorMessageOf(await setUp().post('')), 'failed to decode object: EOF')
  })

  await t.test('rejects malformed bodies and unknown members', async () => {
    const { signed, plain, post } = setUp()
    const json = (value: object) => JSON.stringify(value)
    const packed = (value: object) => algosdk.msgpackRawEncode(value)
    const groups = [{ txns: [plain] }]
    const bodies: [Uint8Array | string, RegExp][] = [
      [simulateBody([signed], { foo: 1 }), /key foo$/],
      [packed({ 'txn-groups': groups, foo: true }), /key foo$/],
      [json({ 'txn-groups': [{ txns: [], foo: 1 }] }), /key foo$/],
      [packed({ 'txn-groups': [{ foo: 1 }] }), /key foo$/],
      [json({ 'exec-trace-config': { foo: true } }), /key foo$/],
      [packed({ 'exec-trace-config': { foo: true } }), /key foo$/],
      ['{"__proto__":{"round":1}}', /key __proto__$/],
      [json({ round: -1 }), /round is not an unsigned integer$/],
      [json({ round: 1.5 }), /round is not an unsigned integer$/],
      [json({ round: '1' }), /round is not an unsigned integer$/],
      ['{"round":18446744073709551616}', /round is not an unsigned integer$/],
      [json({ 'fix-signers': 1 }), /fix-signers is neither true nor false$/],
      [json({ 'exec-trace-config': { enable: 'yes' } }), /enable is neither true nor false$/],
      [packed({ 'fix-signers': 1 }), /expected a boolean$/],
      [packed({ round: 'x' }), /./],
      [packed({ 'txn-groups': 1 }), /./],
      [json({ 'txn-groups': {} }), /expected a list$/],
      [json({ 'txn-groups': [[]] }), /expected an object$/],
      [json({ 'txn-groups': [{ txns: [1] }] }), /expected an object$/],
      [json({ 'txn-groups': [{ txns: [{ txn: { snd: Buffer.alloc(32).toString('base64') } }] }] }), /./],
      ['[]', /expected an object$/],
      ['garbage', /./],
      ['{"txn-groups":', /./],
      [simulateBody([signed]).subarray(0, 100), /./],
      [sdkBody([[signed]]).subarray(0, 100), /./],
      [Buffer.from([0xc1]), /./],
      [Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff]), /./],
      ['\ufeff{}', /./],
      ['{"a":"\u0001"}', /./],
      ['['.repeat(400_000), /./],
      [`${'['.repeat(400_000)}${']'.repeat(400_000)}`, /expected an object$/],
    ]
    for (const [body, reason] of bodies) {
      const message = errorMessageOf(await post(body))
      assert.match(message, /^failed to decode object: /)
      assert.match(message, reason)
    }
  })

  await t.test('accepts nil as a request without a group', async () => {
    const { post } = setUp()
    for (const body of ['{}', 'null', Buffer.from([0x80]), Buffer.from([0xc0])]) {
      assert.equal(errorMessageOf(await post(body)), 'expected 1 transaction group, got 0')
    }
  })

  await t.test('takes linear time for pathological strings', { timeout: 60_000 }, async () => {
    const { post } = setUp()
    // An unterminated string that could restart at every character.
    assert.equal((await post(`"${'\\"'.repeat(490_000)}`)).status, 400)
    assert.equal((await post(JSON.stringify({ a: 'x'.repeat(990_000) }))).status, 400)
    assert.equal((await post(`"${'\\'.repeat(490_001)}`)).status, 400)
  })

  await t.test('rejects more than a million bytes', async () => {
    const { signed, node, post } = setUp()
    const body = Buffer.alloc(1_000_000, ' ')
    simulateBody([signed]).forEach((byte, index) => {
      body[index] = byte
    })
    assert.equal((await post(body)).status, 200)
    assert.equal(errorMessageOf(await post(Buffer.concat([body, Buffer.from(' ')]))), 'http: request body too large')
    const reader = (reason: 'body_too_large' | 'body_timeout' | 'body_malformed') => ({
      method: 'POST',
      target: path,
      header: () => undefined,
      body: () => Promise.reject(new BodyError(reason, 'so it is')),
    })
    for (const [reason, status, message] of [
      ['body_too_large', 413, 'Request Entity Too Large'],
      ['body_timeout', 408, 'so it is'],
      ['body_malformed', 400, 'so it is'],
    ] as const) {
      const response = await node.handle(reader(reason))
      assert.deepEqual(typeof response === 'symbol' ? undefined : [response.status, response.body], [
        status,
        `{"message":"${message}"}\n`,
      ])
    }
  })

  await t.test('rejects an unknown response format', async () => {
    const { node, signed } = setUp()
    const response = await node.post(`${path}?format=xml`, simulateBody([signed]))
    assert.equal(errorMessageOf(response), 'failed to parse the format option')
  })
})
