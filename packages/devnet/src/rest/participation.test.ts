import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Ed25519, Hash } from '@latchkey/algorand'
import { errorMessageOf, expectText, personOf, sign, TestNode } from '../testing/TestNode.test.helper.js'

/** A file created by `algokey part generate`, and a node's report of it. */
const recorded = gunzipSync(
  readFileSync(new URL('../../src/participation/fixtures/algokey.partkey.gz', import.meta.url)),
)
const reported = {
  address: 'KMV3FB4HTGRWJP433BMI5KZYZI5B25CMZ5HAM4MBPRIJNR52FYG6JD6YOM',
  id: 'FLHZQMTXDDOZ24IAYLEOFM2VE5TLRTNQJXH5O5RPV2KI4U4JXHKA',
  key: {
    'selection-participation-key': '5o6HrVJiHwamr/3Wix4Ss1pZRgiyj6oD/RTOZimaDBM=',
    'state-proof-key': 'UQI4oVf2UDYXz7ON+PetHRqQSwjv8UyM0cXK+Oka8N+HJmSZKOJkt7N2Iv9BN0vPu6NCn2wbCnPuZ0RWvlnjTg==',
    'vote-first-valid': 1,
    'vote-key-dilution': 20,
    'vote-last-valid': 400,
    'vote-participation-key': '7zAPLV3FAGilVeNuW1gH8RftpKGEaGO4aYrduLr5w3w=',
  },
}

const path = '/v2/participation'

test('lists the keys with which the accounts of the genesis are online', async () => {
  const node = new TestNode()
  const keys = (await node.get(path)).json
  assert.deepEqual(
    keys.map(({ address }: { address: string }) => address),
    node.genesis.onlineAccounts.map(({ address }) => address),
  )
  for (const { address, id, key } of keys) {
    const account = (await node.get(`/v2/accounts/${address}`)).json
    assert.deepEqual([account.status, account.participation], ['Online', key])
    assert.deepEqual((await node.get(`${path}/${id}`)).json, { address, id, key })
  }
})

test('installs the file of a key, once, and removes it', async () => {
  const node = new TestNode()
  assert.equal(expectText(await node.post(path, recorded)), `{"partId":"${reported.id}"}\n`)
  const text = expectText(await node.get(`${path}/${reported.id}`))
  assert.equal(text, `${JSON.stringify(reported)}\n`)
  assert.equal((await node.get(path)).json.length, 4)
  const duplicate = 'ParticipationRegistry: cannot register duplicate participation key'
  assert.equal(errorMessageOf(await node.post(path, recorded)), duplicate)

  const remove = async () => node.call('DELETE', `${path}/${reported.id}`)
  const removed = await remove()
  assert.deepEqual(typeof removed === 'symbol' || [removed.status, removed.text], [200, ''])
  const again = await remove()
  assert.ok(typeof again !== 'symbol')
  assert.equal(errorMessageOf(again, 404), 'participation id not found')
  assert.equal(errorMessageOf(await node.get(`${path}/${reported.id}`), 404), 'the participation ID was not found')
  // The keys of the genesis come back with it.
  const { id } = (await node.get(path)).json[0]
  await node.call('DELETE', `${path}/${id}`)
  await node.post('/devnet/reset')
  assert.equal((await node.get(`${path}/${id}`)).status, 200)
})

test('a node without keys answers null', async () => {
  const node = new TestNode()
  for (const { id } of (await node.get(path)).json) await node.call('DELETE', `${path}/${id}`)
  assert.equal(expectText(await node.get(path)), 'null\n')
})

test('rejects anything but a key file', async () => {
  const node = new TestNode()
  const malformed = 'database disk image is malformed'
  const cases: [Uint8Array, string][] = [
    [Buffer.alloc(0), 'payload was of zero length'],
    [Buffer.from('x'), 'file is not a database'],
    [Buffer.alloc(5000), 'file is not a database'],
    [recorded.subarray(0, 100), malformed],
    [recorded.subarray(0, 8192), malformed],
    [changed(16, 0, 3), malformed],
    // The type of the first page.
    [changed(100, 7), malformed],
    [circle(), malformed],
  ]
  for (const [body, reason] of cases) {
    assert.equal(errorMessageOf(await node.post(path, body)), reason)
  }
  assert.equal((await node.get(path)).json.length, 3)
  assert.deepEqual(node.errors, [])
})

test('a damaged file causes neither an internal error nor a long run', { timeout: 60_000 }, async () => {
  const node = new TestNode()
  let state = 1
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
  for (let round = 0; round < 500; round++) {
    const damaged = Buffer.from(recorded)
    // Most of the structure is at the beginning of pages.
    for (let edit = 0; edit < 4; edit++) {
      const page = 4096 * random(recorded.length / 4096)
      damaged[page + random(edit % 2 === 0 ? 200 : 4096)] = random(256)
    }
    const { status, json } = await node.post(path, damaged)
    assert.ok(status === 200 || status === 400)
    if (status === 200) await node.call('DELETE', `${path}/${json.partId}`)
  }
  assert.deepEqual(node.errors, [])
})

test('reads no more of a file than the needed row, even if a page refers to a long row many times', async () => {
  const node = new TestNode()
  const table = 'ParticipationAccount'
  const long = Buffer.alloc(3_000)
  const tooManyTables = database([record('table', 'other', 'other', long)], [])
  assert.equal(errorMessageOf(await node.post(path, tooManyTables)), 'database disk image is malformed')
  // The second row is invalid.
  const rows = database([record('table', table, table, 2)], [record(long), Buffer.of(0x7f)])
  const missing = 'cannot install partkey with missing (zero) parent address'
  assert.equal(errorMessageOf(await node.post(path, rows)), missing)
  assert.deepEqual(node.errors, [])
})

test('an invalid number counts as damage', async () => {
  const node = new TestNode()
  const table = 'ParticipationAccount'
  const file = database([record('table', table, table, 2)], [record(Number.NaN)])
  assert.equal(errorMessageOf(await node.post(path, file)), 'database disk image is malformed')
  assert.deepEqual(node.errors, [])
})

/** A database with two pages. The last row of each is referenced repeatedly in all of the remaining space. */
function database(...pages: Buffer[][]): Buffer {
  const pageBytes = 65_536
  const file = Buffer.alloc(pageBytes * pages.length)
  file.write('SQLite format 3\0', 'latin1')
  file.writeUInt16BE(1, 16)
  for (const [index, rows] of pages.entries()) {
    const page = file.subarray(pageBytes * index, pageBytes * (index + 1))
    const start = index === 0 ? 100 : 0
    let end = pageBytes
    const positions = rows.map((row) => {
      end -= row.length
      row.copy(page, end)
      return end
    })
    const cells = rows.length === 0 ? 0 : Math.floor((end - start - 8) / 2)
    page[start] = 0x0d
    page.writeUInt16BE(cells, start + 3)
    for (let cell = 0; cell < cells; cell++) {
      page.writeUInt16BE(positions[Math.min(cell, rows.length - 1)]!, start + 8 + 2 * cell)
    }
  }
  return file
}

/** A row as a cell of its page. */
function record(...columns: (string | number | Buffer)[]): Buffer {
  const parts = columns.map((column) => {
    if (typeof column === 'string') return { type: 13 + 2 * column.length, bytes: Buffer.from(column) }
    if (typeof column === 'object') return { type: 12 + 2 * column.length, bytes: column }
    if (Number.isInteger(column)) return { type: 1, bytes: Buffer.of(column) }
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleBE(column)
    return { type: 7, bytes }
  })
  const types = Buffer.concat(parts.map(({ type }) => varint(type)))
  const payload = Buffer.concat([Buffer.of(types.length + 1), types, ...parts.map(({ bytes }) => bytes)])
  return Buffer.concat([varint(payload.length), Buffer.of(1), payload])
}

function varint(value: number): Buffer {
  return value < 128 ? Buffer.of(value) : Buffer.of(128 | (value >> 7), value & 127)
}

/** Returns the recorded file with other bytes at a position. */
function changed(at: number, ...bytes: number[]): Buffer {
  const copy = Buffer.from(recorded)
  copy.set(bytes, at)
  return copy
}

/** A file whose first page has hundreds of children, each of which is this page again. */
function circle(): Buffer {
  const page = Buffer.alloc(4096)
  recorded.copy(page, 0, 0, 100)
  page[100] = 0x05
  page.writeUInt16BE(400, 103)
  page.writeUInt32BE(1, 108)
  for (let cell = 0; cell < 400; cell++) page.writeUInt16BE(4000, 112 + 2 * cell)
  page.writeUInt32BE(1, 4000)
  return page
}

test('generates a key with which the account goes online', async () => {
  const node = new TestNode()
  const person = personOf(81)
  node.ledger.fund({ type: 'fund', to: person.key, microAlgos: 10_000_000n, assets: [] })
  const generate = `${path}/generate/${person.address}`
  const required = (name: string) => `Invalid format for parameter ${name}: query parameter '${name}' is required`
  assert.equal(errorMessageOf(await node.post(generate)), required('first'))
  assert.equal(errorMessageOf(await node.post(`${generate}?first=0`)), required('last'))
  assert.equal(errorMessageOf(await node.post(`${path}/generate/x?first=0&last=1`)).includes('address x'), true)
  const accepted = async (query: string) =>
    expectText(await node.post(generate + query), 200, 'text/plain; charset=UTF-8')
  // As on a node, the response does not contain the reason.
  assert.equal(await accepted('?first=5&last=4'), '{}')
  assert.equal((await node.get(path)).json.length, 3)

  assert.equal(await accepted('?first=0&last=10000'), '{}')
  const { address, key } = (await node.get(path)).json.at(-1)
  assert.deepEqual([address, key['vote-last-valid'], key['vote-key-dilution']], [person.address, 10_000, 101])
  const bytes = (name: string) => new Uint8Array(Buffer.from(key[name], 'base64'))
  const fields = {
    votekey: bytes('vote-participation-key'),
    selkey: bytes('selection-participation-key'),
    sprfkey: bytes('state-proof-key'),
    votelst: 10_000n,
    votekd: 101n,
  }
  await node.send(sign(node.txn('keyreg', person, fields), person))
  const account = (await node.get(`/v2/accounts/${person.address}`)).json
  assert.deepEqual([account.status, account.participation], ['Online', key])
  assert.equal(await accepted('?first=0&last=10&dilution=7'), '{}')
  assert.equal((await node.get(path)).json.at(-1).key['vote-key-dilution'], 7)
})

test('rejects an invalid id', async () => {
  const node = new TestNode()
  for (const wrong of [
    'x',
    'A'.repeat(51),
    Hash.toText(Ed25519.keyPairFromSeed(new Uint8Array(32)).publicKey).toLowerCase(),
  ]) {
    assert.match(errorMessageOf(await node.get(`${path}/${wrong}`)), /was not a participation id/)
  }
})

test('keeps a bounded number of keys', async () => {
  const node = new TestNode()
  const { address } = personOf(82)
  for (let count = 0; count < 997; count++) await node.post(`${path}/generate/${address}?first=0&last=1`)
  const { status, json } = await node.post(`${path}/generate/${address}?first=0&last=1`)
  assert.deepEqual([status, json.message], [400, 'the development node keeps at most 1000 participation keys'])
})

test('takes state proof keys for a participation key', async () => {
  const node = new TestNode()
  const unknown = `${path}/${'A'.repeat(52)}`
  const pair = Buffer.from('9182a36b657982a2706bc40101a2736bc40102a3726e6405', 'hex')
  const append = (target: string, body: Uint8Array | string = '') => node.post(target, body)
  const notId = 'attempted to decode a string which was not a participation id: "AAAA"'
  assert.equal(errorMessageOf(await append(`${path}/AAAA`)), notId)
  assert.equal(errorMessageOf(await append(unknown)), 'unable to parse keys from body: EOF')
  const empty = 'empty request, please attach keys to request body'
  for (const body of ['90', '80', 'c0'])
    assert.equal(errorMessageOf(await append(unknown, Buffer.from(body, 'hex'))), empty)
  assert.match(errorMessageOf(await append(unknown, 'hello')), /^unable to parse keys from body: msgpack decode error/)
  assert.match(errorMessageOf(await append(unknown, Buffer.from('9181a178c0', 'hex'))), /field found .* with key x$/)
  for (const body of [Buffer.from('9180', 'hex'), pair]) {
    assert.equal(errorMessageOf(await append(unknown, body), 500), 'the participation ID was not found')
  }
  const { id } = (await node.get(path)).json[0]
  const { status, text } = await append(`${path}/${id}`, pair)
  assert.deepEqual([status, text], [200, ''])
})
