import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as Consensus from '../ledger/Consensus.js'
import { expectText, personOf, refusalOf, sign, TestNode } from '../testing/TestNode.test.helper.js'
import { version } from '../version.js'

const proto = Consensus.version

describe('what a node says of itself', () => {
  test('health and readiness are null and a newline', async () => {
    const node = new TestNode()
    for (const path of ['/health', '/ready']) assert.equal(expectText(await node.get(path)), 'null\n')
  })

  test('versions keep the order of their members, and name a channel that no real network has', async () => {
    const node = new TestNode()
    const hash = JSON.parse((await node.get('/v2/transactions/params')).text)['genesis-hash']
    const [major, minor, build] = version.split('.')
    assert.equal(
      expectText(await node.get('/versions')),
      `{"versions":["v2"],"genesis_id":"dockernet-v1","genesis_hash_b64":"${hash}",` +
        `"build":{"major":${major},"minor":${minor},"build_number":${build},"commit_hash":"","branch":"latchkey","channel":"devnet"}}\n`,
    )
  })

  test('the genesis document is the one whose hash names the network', async () => {
    const node = new TestNode({ accountCount: 1 })
    const { dispenser, accounts } = node.genesis
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
    {
      "addr": "${dispenser.address}",
      "comment": "Wallet1",
      "state": {
        "algo": 9999000000000000
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

  test('status has every member a node prints, the empty ones too', async () => {
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

  test('suggested parameters', async () => {
    const node = new TestNode()
    const hash = (await node.get('/versions')).json.genesis_hash_b64
    const expected = (round: number) =>
      `{"consensus-version":"${proto}","fee":0,"genesis-hash":"${hash}","genesis-id":"dockernet-v1","last-round":${round},"min-fee":1000}\n`
    assert.equal(expectText(await node.get('/v2/transactions/params')), expected(0))
    await node.post('/devnet/mine', { rounds: 7 })
    assert.equal(expectText(await node.get('/v2/transactions/params')), expected(7))
  })

  test('the supply is bare integers above 2^53, without what does not participate', async () => {
    const node = new TestNode()
    assert.equal(
      expectText(await node.get('/v2/ledger/supply')),
      '{"current_round":0,"online-money":0,"online-stake":0,"total-money":10000000000000000}\n',
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
    // The fee is gone to the fee sink, which does not participate.
    assert.equal(
      expectText(await node.get('/v2/ledger/supply')),
      '{"current_round":1,"online-money":999999999000,"online-stake":999999999000,"total-money":9999999999999000}\n',
    )
  })

  test('metrics are Prometheus lines about this ledger', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    await node.send(sign(node.pay(person, person, 1n), person))
    const text = expectText(await node.get('/metrics'), 200, 'text/plain')
    for (const line of text.trimEnd().split('\n')) {
      assert.match(line, /^(# HELP [a-z_]+ .+|# TYPE [a-z_]+ (gauge|counter)|[a-z_]+ [0-9]+)$/)
    }
    assert.match(text, /^algod_ledger_round 0$/m)
    assert.match(text, /^algod_tx_pool_count 1$/m)
    await node.post('/devnet/mine')
    const after = (await node.get('/metrics')).text
    assert.match(after, /^algod_ledger_round 1$/m)
    assert.match(after, /^algod_ledger_transactions_total 1$/m)
    assert.match(after, /^algod_tx_pool_count 0$/m)
  })
})

describe('the offset of block times', () => {
  test('never set is 404; set, it is told, zero included', async () => {
    const node = new TestNode()
    const path = '/v2/devmode/blocks/offset'
    assert.equal(
      expectText(await node.get(path), 404),
      '{"message":"failed retrieving timestamp offset from node: block timestamp offset was never set, using real clock for timestamps"}\n',
    )
    for (const offset of ['100', '0', '9223372036854775807']) {
      const answer = await node.post(`${path}/${offset}`)
      assert.deepEqual([answer.status, answer.text, answer.header('content-type')], [200, '', undefined])
      assert.equal(expectText(await node.get(path)), `{"offset":${offset}}\n`)
    }
  })

  test('blocks are that much apart', async () => {
    const node = new TestNode({ nowMs: () => 1_700_000_000_000 })
    await node.post('/devnet/mine')
    await node.post('/v2/devmode/blocks/offset/100')
    assert.equal((await node.post('/devnet/mine', { rounds: 2 })).json.timestamp, 1_700_000_200)
    await node.post('/v2/devmode/blocks/offset/0')
    assert.equal((await node.post('/devnet/mine', { rounds: 2 })).json.timestamp, 1_700_000_200)
  })

  test('what is no offset is refused in the words of a node', async () => {
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
      assert.equal(refusalOf(await node.post(`/v2/devmode/blocks/offset/${offset}`)), message)
    }
    assert.equal((await node.get('/v2/devmode/blocks/offset')).status, 404)
  })
})

describe('waiting for a block', () => {
  const lastRound = (answer: { json: { [name: string]: number } }) => answer.json['last-round']

  test('is over at once when the block is there', async () => {
    const node = new TestNode()
    await node.post('/devnet/mine', { rounds: 3 })
    for (const round of [0, 1, 2]) assert.equal(lastRound(await node.get(waitPath(round))), 3)
    // A tool sends it with a slash at the end.
    assert.equal(lastRound(await node.get(`${waitPath(2)}/`)), 3)
    // One past the largest round is, on a node, the first.
    assert.equal(lastRound(await node.get(waitPath('18446744073709551615'))), 3)
  })

  test('is over when the block comes, and not with one before it', async () => {
    const node = new TestNode()
    const waiting = watched(node.get(waitPath(1)))
    await node.post('/devnet/mine')
    await settle()
    assert.equal(waiting.isOver(), false)
    const person = node.funded(0)
    await node.send(sign(node.pay(person, personOf(9), 1_000_000n), person))
    assert.equal(lastRound(await waiting.answer), 2)
  })

  test('is over after a minute, with the round there is', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const node = new TestNode()
    const waiting = watched(node.get(waitPath(5)))
    t.mock.timers.tick(59_999)
    await settle()
    assert.equal(waiting.isOver(), false)
    t.mock.timers.tick(1)
    assert.equal(lastRound(await waiting.answer), 0)
  })

  test('is over when the peer goes, and when the node stops', async () => {
    const node = new TestNode()
    let gone = () => {}
    const answer = node.handle({
      method: 'GET',
      target: waitPath(5),
      header: () => undefined,
      onClose: (listener) => {
        gone = listener
      },
      body: () => Buffer.alloc(0),
    })
    assert.ok(answer instanceof Promise)
    gone()
    await answer
    const stopped = node.get(waitPath(5))
    node.node.stop()
    assert.equal((await stopped).status, 200)
  })

  test('by too many at once is refused, until some have gone', async () => {
    const node = new TestNode()
    const waiting = Array.from({ length: 1_000 }, () => node.get(waitPath(0)))
    assert.equal(refusalOf(await node.get(waitPath(0)), 503), 'too many requests wait for a block')
    await node.post('/devnet/mine')
    assert.equal(lastRound((await Promise.all(waiting))[999]!), 1)
    const next = node.get(waitPath(1))
    await node.post('/devnet/mine')
    assert.equal((await next).status, 200)
  })

  test('for what is no round is refused', async () => {
    assert.match(refusalOf(await new TestNode().get(waitPath('abc'))), /^Invalid format for parameter round: .*"abc"/)
  })
})

function waitPath(round: number | string): string {
  return `/v2/status/wait-for-block-after/${round}`
}

function watched<T>(answer: Promise<T>): { answer: Promise<T>; isOver: () => boolean } {
  let isOver = false
  const done = answer.finally(() => {
    isOver = true
  })
  return { answer: done, isOver: () => isOver }
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}
