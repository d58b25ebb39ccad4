import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Consensus from '../ledger/Consensus.js'
import { errorMessageOf, expectText, personOf, sign, TestNode } from '../testing/TestNode.test.helper.js'
import { version } from '../version.js'

const proto = Consensus.version

test('node endpoints', async (t) => {
  await t.test('health and readiness are null and a newline', async () => {
    const node = new TestNode()
    for (const path of ['/health', '/ready']) assert.equal(expectText(await node.get(path)), 'null\n')
  })

  await t.test('versions keep their member order, and have the channel devnet', async () => {
    const node = new TestNode()
    const hash = JSON.parse((await node.get('/v2/transactions/params')).text)['genesis-hash']
    const [major, minor, build] = version.split('.')
    assert.equal(
      expectText(await node.get('/versions')),
      `{"versions":["v2"],"genesis_id":"dockernet-v1","genesis_hash_b64":"${hash}",` +
        `"build":{"major":${major},"minor":${minor},"build_number":${build},"commit_hash":"","branch":"latchkey","channel":"devnet"}}\n`,
    )
  })

  await t.test('serves the genesis document that has the genesis hash', async () => {
    const node = new TestNode({ accountCount: 1 })
    const { onlineAccounts, faucet, accounts, participation } = node.genesis
    const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
    const online = onlineAccounts.map(({ address }, index) => {
      const { voteKey, selectionKey, stateProofKey } = participation[index]!.keys
      return `    {
      "addr": "${address}",
      "comment": "Wallet${index + 1}",
      "state": {
        "algo": ${index === 2 ? 2 : 4}000000000000000,
        "onl": 1,
        "sel": "${base64(selectionKey)}",
        "stprf": "${base64(stateProofKey)}",
        "vote": "${base64(voteKey)}",
        "voteKD": 10000,
        "voteLst": 3000000
      }
    },`
    })
    assert.equal(
      expectText(await node.get('/genesis')),
      `{
  "alloc": [
    {
      "addr": "7777777777777777777777777777777777777777777777777774MSJUVU",
      "comment": "RewardsPool",
      "state": {
        "algo": 100000,
        "onl": 2
      }
    },
    {
      "addr": "A7NMWS3NT3IUDMLVO26ULGXGIIOUQ3ND2TXSER6EBGRZNOBOUIQXHIBGDE",
      "comment": "FeeSink",
      "state": {
        "algo": 100000,
        "onl": 2
      }
    },
${online.join('\n')}
    {
      "addr": "${faucet.address}",
      "comment": "faucet",
      "state": {
        "algo": 4999000000000000
      }
    },
    {
      "addr": "${accounts[0]!.address}",
      "comment": "account 1",
      "state": {
        "algo": 1000000000000
      }
    }
  ],
  "devmode": true,
  "fees": "A7NMWS3NT3IUDMLVO26ULGXGIIOUQ3ND2TXSER6EBGRZNOBOUIQXHIBGDE",
  "id": "v1",
  "network": "dockernet",
  "proto": "${proto}",
  "rwd": "7777777777777777777777777777777777777777777777777774MSJUVU"
}
`,
    )
  })

  await t.test('status has every member of a node, including empty ones', async () => {
    const node = new TestNode()
    await node.post('/devnet/mine', { rounds: 41 })
    const text = expectText(await node.get('/v2/status')).replace(/("time-since-last-round":)[0-9]+/, '$1#')
    assert.equal(
      text,
      '{"catchpoint":"","catchpoint-acquired-blocks":0,"catchpoint-processed-accounts":0,"catchpoint-processed-kvs":0,' +
        '"catchpoint-total-accounts":0,"catchpoint-total-blocks":0,"catchpoint-total-kvs":0,' +
        '"catchpoint-verified-accounts":0,"catchpoint-verified-kvs":0,"catchup-time":0,"last-catchpoint":"",' +
        `"last-round":41,"last-version":"${proto}","next-version":"${proto}","next-version-round":42,` +
        '"next-version-supported":true,"stopped-at-unsupported-round":false,"time-since-last-round":#}\n',
    )
  })

  await t.test('suggested parameters', async () => {
    const node = new TestNode()
    const hash = (await node.get('/versions')).json.genesis_hash_b64
    const expected = (round: number) =>
      `{"consensus-version":"${proto}","fee":0,"genesis-hash":"${hash}","genesis-id":"dockernet-v1","last-round":${round},"min-fee":1000}\n`
    assert.equal(expectText(await node.get('/v2/transactions/params')), expected(0))
    await node.post('/devnet/mine', { rounds: 7 })
    assert.equal(expectText(await node.get('/v2/transactions/params')), expected(7))
  })

  await t.test('the supply has integers above 2^53, without nonparticipating accounts', async () => {
    const node = new TestNode()
    assert.equal(
      expectText(await node.get('/v2/ledger/supply')),
      '{"current_round":0,"online-money":10000000000000000,"online-stake":10000000000000000,"total-money":15000000000000000}\n',
    )
    const person = node.funded(0)
    await node.send(
      sign(
        node.txn('keyreg', person, {
          votekey: new Uint8Array(32).fill(1),
          selkey: new Uint8Array(32).fill(2),
          sprfkey: new Uint8Array(64).fill(3),
          votefst: 1n,
          votelst: 3000n,
          votekd: 55n,
        }),
        person,
      ),
    )
    // The fee went to the fee sink, which does not participate.
    assert.equal(
      expectText(await node.get('/v2/ledger/supply')),
      '{"current_round":1,"online-money":10000999999999000,"online-stake":10000000000000000,"total-money":14999999999999000}\n',
    )
  })

  await t.test('metrics are in the Prometheus format', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    await node.send(sign(node.pay(person, person, 1n), person))
    const text = expectText(await node.get('/metrics'), 200, 'text/plain')
    for (const line of text.trimEnd().split('\n')) {
      assert.match(line, /^(# HELP [a-z_]+ .+|# TYPE [a-z_]+ (gauge|counter)|[a-z_]+ [0-9]+)$/)
    }
    assert.match(text, /^algod_ledger_round 0$/m)
    assert.match(text, /^algod_tx_pool_transactions 1$/m)
    await node.post('/devnet/mine')
    const after = (await node.get('/metrics')).text
    assert.match(after, /^algod_ledger_round 1$/m)
    assert.match(after, /^algod_ledger_transactions_total 1$/m)
    assert.match(after, /^algod_tx_pool_transactions 0$/m)
  })
})

test('block timestamp offset', async (t) => {
  await t.test('is 404 until it is set, including to zero', async () => {
    const node = new TestNode()
    const path = '/v2/devmode/blocks/offset'
    assert.equal(
      expectText(await node.get(path), 404),
      '{"message":"failed retrieving timestamp offset from node: block timestamp offset was never set, using real clock for timestamps"}\n',
    )
    for (const offset of ['100', '0', '9223372036854775807']) {
      const response = await node.post(`${path}/${offset}`)
      assert.deepEqual([response.status, response.text, response.header('content-type')], [200, '', undefined])
      assert.equal(expectText(await node.get(path)), `{"offset":${offset}}\n`)
    }
  })

  await t.test('separates blocks by that many seconds', async () => {
    const node = new TestNode({ nowMs: () => 1_700_000_000_000 })
    await node.post('/devnet/mine')
    await node.post('/v2/devmode/blocks/offset/100')
    assert.equal((await node.post('/devnet/mine', { rounds: 2 })).json.timestamp, 1_700_000_200)
    await node.post('/v2/devmode/blocks/offset/0')
    assert.equal((await node.post('/devnet/mine', { rounds: 2 })).json.timestamp, 1_700_000_200)
  })

  await t.test("is rejected with a node's messages if invalid", async () => {
    const node = new TestNode()
    const parsing = (text: string, reason: string) =>
      `Invalid format for parameter offset: error binding string parameter: strconv.ParseUint: parsing "${text}": ${reason}`
    for (const [offset, message] of [
      ['-1', parsing('-1', 'invalid syntax')],
      ['abc', parsing('abc', 'invalid syntax')],
      ['18446744073709551616', parsing('18446744073709551616', 'value out of range')],
      [
        '9223372036854775808',
        'failed to set timestamp offset on the node: block timestamp offset cannot be larger than max int64 value',
      ],
    ] as const) {
      assert.equal(errorMessageOf(await node.post(`/v2/devmode/blocks/offset/${offset}`)), message)
    }
    assert.equal((await node.get('/v2/devmode/blocks/offset')).status, 404)
  })
})

test('waiting for a block', async (t) => {
  const lastRound = (response: { json: { [name: string]: number } }) => response.json['last-round']

  await t.test('ends immediately if the block exists', async () => {
    const node = new TestNode()
    await node.post('/devnet/mine', { rounds: 3 })
    for (const round of [0, 1, 2]) assert.equal(lastRound(await node.get(waitPath(round))), 3)
    // Some tools add a trailing slash.
    assert.equal(lastRound(await node.get(`${waitPath(2)}/`)), 3)
    // On a node, the round after the largest wraps around to 0.
    assert.equal(lastRound(await node.get(waitPath('18446744073709551615'))), 3)
  })

  await t.test('ends with the block, not with an earlier one', async () => {
    const node = new TestNode()
    const waiting = watched(node.get(waitPath(1)))
    await node.post('/devnet/mine')
    await settle()
    assert.equal(waiting.isOver(), false)
    const person = node.funded(0)
    await node.send(sign(node.pay(person, personOf(9), 1_000_000n), person))
    assert.equal(lastRound(await waiting.response), 2)
  })

  await t.test('ends after a minute with the current round', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const node = new TestNode()
    const waiting = watched(node.get(waitPath(5)))
    t.mock.timers.tick(59_999)
    await settle()
    assert.equal(waiting.isOver(), false)
    t.mock.timers.tick(1)
    assert.equal(lastRound(await waiting.response), 0)
  })

  await t.test('ends when the peer disconnects, and when the node stops', async () => {
    const node = new TestNode()
    let gone = () => {}
    const response = node.handle({
      method: 'GET',
      target: waitPath(5),
      header: () => undefined,
      onClose: (listener) => {
        gone = listener
      },
      body: () => Buffer.alloc(0),
    })
    assert.ok(response instanceof Promise)
    gone()
    await response
    const stopped = node.get(waitPath(5))
    node.node.stop()
    assert.equal((await stopped).status, 200)
  })

  await t.test('is rejected for too many requests, until some have ended', async () => {
    const node = new TestNode()
    const waiting = Array.from({ length: 1_000 }, () => node.get(waitPath(0)))
    assert.equal(errorMessageOf(await node.get(waitPath(0)), 503), 'too many requests are waiting for a block')
    await node.post('/devnet/mine')
    assert.equal(lastRound((await Promise.all(waiting))[999]!), 1)
    const next = node.get(waitPath(1))
    await node.post('/devnet/mine')
    assert.equal((await next).status, 200)
  })

  await t.test('rejects an invalid round', async () => {
    assert.match(
      errorMessageOf(await new TestNode().get(waitPath('abc'))),
      /^Invalid format for parameter round: .*"abc"/,
    )
  })
})

function waitPath(round: number | string): string {
  return `/v2/status/wait-for-block-after/${round}`
}

function watched<T>(response: Promise<T>): { response: Promise<T>; isOver: () => boolean } {
  let isOver = false
  const done = response.finally(() => {
    isOver = true
  })
  return { response: done, isOver: () => isOver }
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
