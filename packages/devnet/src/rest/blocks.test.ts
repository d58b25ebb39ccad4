import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Hash, Msgpack, Submission } from '@latchkey/algorand'
import algosdk from 'algosdk'
import * as Consensus from '../ledger/Consensus.js'
import {
  decoded,
  errorMessageOf,
  expectText,
  headersOf,
  personOf,
  sign,
  signGroup,
  TestNode,
} from '../testing/TestNode.test.helper.js'

const feeSink = 'A7NMWS3NT3IUDMLVO26ULGXGIIOUQ3ND2TXSER6EBGRZNOBOUIQXHIBGDE'
const rewardsPool = '7777777777777777777777777777777777777777777777777774MSJUVU'
const newcomer = personOf(21)

let node: TestNode
let genesisHash: string
/** The group in block 2. */
let ids: string[]
let signed: Uint8Array[]

/** Block 1 is empty, 2 has a group of two, 3 creates an asset, 4 closes an account. */
before(async () => {
  node = new TestNode({ nowMs: () => 1_700_000_000_000 })
  genesisHash = (await node.get('/versions')).json.genesis_hash_b64
  const [a, b] = [node.funded(0), node.funded(1)]
  await node.post('/devnet/mine')
  signed = signGroup([
    [node.pay(a, newcomer, 300_000n), a],
    [node.pay(b, a, 1001n, { gen: undefined }), b],
  ])
  await node.send(...signed)
  ids = signed.map((bytes) => algosdk.decodeMsgpack(bytes, algosdk.SignedTransaction).txn.txID())
  await node.send(sign(node.txn('acfg', a, { apar: { t: 5n } }), a))
  await node.send(sign(node.pay(newcomer, a, 1000n, { close: b.publicKey }), newcomer))
})

const hashOf = async (round: number) => (await node.get(`/v2/blocks/${round}/hash`)).json.blockHash as string
const seedOf = async (round: number) => Buffer.from(Hash.fromText(await hashOf(round))!).toString('base64')

test('a block in JSON', async (t) => {
  await t.test('block 0 has the genesis values', async () => {
    const expected = `{
  "block": {
    "fees": "${feeSink}",
    "gen": "dockernet-v1",
    "gh": "${genesisHash}",
    "proto": "${Consensus.version}",
    "rwcalr": 500000,
    "rwd": "${rewardsPool}",
    "seed": "${genesisHash}",
    "tc": 1000,
    "txn": "J3hisbLS0SebtaGdDYdRj+cVAPEmuLozZ3W9NJoee3M="
  }
}`
    for (const query of ['', '?format=json', '?header-only=true']) {
      const text = expectText(await node.get(`/v2/blocks/0${query}`))
      assert.equal(text, expected)
    }
  })

  await t.test('an empty block has commitments and no transaction list', async () => {
    const { text } = await node.get('/v2/blocks/1')
    const { prev512 } = JSON.parse(text).block
    assert.equal(
      text,
      `{
  "block": {
    "bi": 10000000,
    "fees": "${feeSink}",
    "gen": "dockernet-v1",
    "gh": "${genesisHash}",
    "prev": "blk-${await hashOf(0)}",
    "prev512": "${prev512}",
    "proto": "${Consensus.version}",
    "rnd": 1,
    "rwcalr": 500000,
    "rwd": "${rewardsPool}",
    "seed": "${await seedOf(0)}",
    "spt": {
      "0": {
        "n": 512
      }
    },
    "tc": 1000,
    "ts": 1700000000,
    "txn256": "HQn2+iMjWIFRTaDl+PeJdn5rKOch+otqMK5/Gao+puc=",
    "txn512": "6pLkvdh1oF4mqCLDG6u3mSTUQWNNpCiN6idrSokhIPMraS11+/duMXXv+F0rooRAARrPTSDD6vvxRKVzecgTog=="
  }
}`,
    )
  })

  await t.test('a block with a group has its members without the values of the header', async () => {
    const { text } = await node.get('/v2/blocks/2')
    const { block } = JSON.parse(text)
    const member = (index: number, amount: number, mark: string) => {
      const { sig, txn } = Submission.toJson(Submission.decodeFirst(signed[index]!).signed) as {
        sig: string
        txn: { [name: string]: string }
      }
      return `      {
${mark}        "sig": "${sig}",
        "txn": {
          "amt": ${amount},
          "fee": 1000,
          "fv": 1,
          "grp": "${txn['grp']}",
          "lv": 1001,
          "note": "${txn['note']}",
          "rcv": "${txn['rcv']}",
          "snd": "${txn['snd']}",
          "type": "pay"
        }
      }`
    }
    const head = `{
  "block": {
    "bi": 10000000,
    "fc": 2000,
    "fees": "${feeSink}",
    "gen": "dockernet-v1",
    "gh": "${genesisHash}",
    "ld": ${block.ld},
    "prev": "blk-${await hashOf(1)}",
    "prev512": "${block.prev512}",
    "proto": "${Consensus.version}",
    "rnd": 2,
    "rwcalr": 500000,
    "rwd": "${rewardsPool}",
    "seed": "${await seedOf(1)}",
    "spt": {
      "0": {
        "n": 512
      }
    },
    "tc": 1002,
    "ts": 1700000000,
    "txn": "${block.txn}",
    "txn256": "${block.txn256}",
    "txn512": "${block.txn512}"`
    // The second transaction has no genesis id.
    const txns = `,
    "txns": [
${member(0, 300_000, '        "hgi": true,\n')},
${member(1, 1001, '')}
    ]
  }
}`
    assert.equal(text, head + txns)
    assert.equal(expectText(await node.get('/v2/blocks/2?header-only=true')), `${head}\n  }\n}`)
  })

  await t.test('contains the outcomes of its transactions', async () => {
    assert.match(
      (await node.get('/v2/blocks/3')).text,
      /"txns": \[\n {6}\{\n {8}"caid": 1003,\n {8}"hgi": true,\n {8}"sig": /,
    )
    assert.match((await node.get('/v2/blocks/4')).text, /\n {6}\{\n {8}"ca": 298000,\n {8}"hgi": true,\n {8}"sig": /)
  })

  await t.test('parses flags like nodes, and rejects others', async () => {
    for (const flag of ['1', 't', 'T', 'true', 'TRUE', 'True']) {
      assert.equal((await node.get(`/v2/blocks/2?header-only=${flag}`)).json.block.txns, undefined, flag)
    }
    for (const flag of ['0', 'f', 'F', 'false', 'FALSE', 'False']) {
      assert.equal((await node.get(`/v2/blocks/2?header-only=${flag}`)).json.block.txns.length, 2, flag)
    }
    for (const flag of ['maybe', 'tRue', '']) {
      assert.equal(
        errorMessageOf(await node.get(`/v2/blocks/2?header-only=${flag}`)),
        `Invalid format for parameter header-only: error binding string parameter: strconv.ParseBool: parsing "${flag}": invalid syntax`,
      )
    }
  })
})

test('a block in msgpack', async (t) => {
  const get = async (round: number, query = '') => node.get(`/v2/blocks/${round}?format=msgpack${query}`)

  await t.test('has a certificate and the header X-Algorand-Struct', async () => {
    for (const round of [0, 1, 2, 3, 4]) {
      const response = await get(round)
      expectText(response, 200, 'application/msgpack')
      assert.equal(response.header('x-algorand-struct'), 'block-v1')
      const { block, cert, ...rest } = decoded(response.bytes)
      assert.deepEqual([cert, rest], [round === 0 ? {} : { rnd: BigInt(round) }, {}])
      assert.deepEqual(block.txns?.length, [undefined, undefined, 2, 1, 1][round])
    }
  })

  await t.test('has the same members as in JSON', async () => {
    const { block } = decoded((await get(2)).bytes)
    const { block: json } = (await node.get('/v2/blocks/2')).json
    assert.deepEqual(Object.keys(block), Object.keys(json))
    assert.deepEqual(block.spt, new Map([[0n, { n: 512n }]]))
    assert.deepEqual(Object.keys(block.txns[0]), ['hgi', 'sig', 'txn'])
    assert.deepEqual(Object.keys(block.txns[0].txn), Object.keys(json.txns[0].txn))
    for (const name of ['gh', 'prev512', 'seed', 'txn', 'txn256', 'txn512'])
      assert.equal(block[name], `bin:${json[name]}`)
    for (const name of ['bi', 'fc', 'rnd', 'rwcalr', 'tc', 'ts']) assert.equal(block[name], BigInt(json[name]))
  })

  await t.test('header-only has neither, and hashes to the block hash', async () => {
    const response = await get(2, '&header-only=true')
    expectText(response, 200, 'application/msgpack')
    const headers = await headersOf(node, 'GET', '/v2/blocks/2?format=msgpack&header-only=true')
    assert.deepEqual(headers, { 'content-type': 'application/msgpack' })
    const reader = new Msgpack.Reader(response.bytes)
    assert.deepEqual([reader.mapHeader(), reader.str()], [1, 'block'])
    const header = response.bytes.slice(reader.position)
    assert.equal(Hash.toText(Hash.hash(Hash.domains.blockHeader, header)), await hashOf(2))
  })

  await t.test('is decoded by algosdk', async () => {
    const { block } = algosdk.decodeMsgpack((await get(2)).bytes, algosdk.modelsv2.BlockResponse)
    assert.deepEqual([block.header.round, block.header.genesisID, block.payset.length], [2n, 'dockernet-v1', 2])
    assert.equal(block.payset[0]?.signedTxn.signedTxn.txn.payment?.amount, 300_000n)
  })
})

test('lookups of a block', async (t) => {
  await t.test('the hash is in the next block, and the ids are those of its transactions', async () => {
    assert.equal(expectText(await node.get('/v2/blocks/2/hash')), `{"blockHash":"${await hashOf(2)}"}\n`)
    assert.equal((await node.get('/v2/blocks/3')).json.block.prev, `blk-${await hashOf(2)}`)
    assert.equal(expectText(await node.get('/v2/blocks/1/txids')), '{"blockTxids":[]}\n')
    assert.equal(expectText(await node.get('/v2/blocks/2/txids')), `{"blockTxids":["${ids[0]}","${ids[1]}"]}\n`)
  })

  await t.test('an unknown round is 404', async () => {
    for (const round of ['5', '99999', '9223372036854775808', '18446744073709551615']) {
      for (const rest of ['', '?format=msgpack', '?header-only=true', '/hash', '/txids']) {
        const response = await node.get(`/v2/blocks/${round}${rest}`)
        assert.equal(expectText(response, 404), '{"message":"failed to retrieve information from the ledger"}\n')
      }
    }
  })

  await t.test('an invalid round or format is 400', async () => {
    for (const [round, shown, reason] of [
      ['abc', 'abc', 'invalid syntax'],
      ['-1', '-1', 'invalid syntax'],
      ['+0', '+0', 'invalid syntax'],
      ['1_0', '1_0', 'invalid syntax'],
      ['a%22b', 'a\\"b', 'invalid syntax'],
      ['18446744073709551616', '18446744073709551616', 'value out of range'],
      ['9'.repeat(60), '9'.repeat(60), 'value out of range'],
    ] as const) {
      const message = `Invalid format for parameter round: error binding string parameter: strconv.ParseUint: parsing "${shown}": ${reason}`
      for (const rest of ['', '/hash', '/txids']) {
        assert.equal(errorMessageOf(await node.get(`/v2/blocks/${round}${rest}`)), message)
      }
    }
    for (const format of ['xml', '', 'msgpackk']) {
      assert.equal(
        errorMessageOf(await node.get(`/v2/blocks/9999?format=${format}`)),
        'failed to parse the format option',
      )
    }
  })

  await t.test('a dropped round is 404', async () => {
    const small = new TestNode({ history: { blocks: 5, bytes: 1e9 } })
    await small.post('/devnet/mine', { rounds: 10 })
    assert.deepEqual(
      await Promise.all([5, 6, 10].map(async (round) => (await small.get(`/v2/blocks/${round}`)).status)),
      [404, 200, 200],
    )
  })
})
