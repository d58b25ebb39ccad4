/** The applications of accounts and the boxes of applications, in pages, as recorded from a node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploy, fundApplication } from '../testing/applications.test.helper.js'
import { errorMessageOf, sign, TestNode } from '../testing/TestNode.test.helper.js'

async function setUp() {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), node.funded(1)] as const
  return { node, alice, bob }
}

test('the applications of an account have the parameters of those that others created', async () => {
  const { node, alice, bob } = await setUp()
  const [own, foreign] = [await deploy(node, bob, 'int 1'), await deploy(node, alice, 'int 1')]
  await node.send(sign(node.txn('appl', bob, { apid: foreign, apan: 1n }), bob))
  const path = `/v2/accounts/${bob.address}/applications`
  const { json } = await node.get(`${path}?include=params`)
  const [first, second] = json['application-resources']
  assert.deepEqual([first.id, first.params.creator, first['app-local-state']], [Number(own), bob.address, undefined])
  assert.deepEqual([second.id, second.params.creator], [Number(foreign), alice.address])
  assert.equal(second['app-local-state'].id, Number(foreign))
  const plain = (await node.get(path)).json['application-resources']
  assert.deepEqual(
    plain.map((one: object) => Object.keys(one)),
    [['id'], ['app-local-state', 'id']],
  )
})

test('an application that was deleted is marked in the applications of an account that is still opted in', async () => {
  const { node, alice, bob } = await setUp()
  const apid = await deploy(node, alice, 'int 1')
  await node.send(sign(node.txn('appl', bob, { apid, apan: 1n }), bob))
  await node.send(sign(node.txn('appl', alice, { apid, apan: 5n }), alice))
  for (const query of ['', '?include=params']) {
    const { json } = await node.get(`/v2/accounts/${bob.address}/applications${query}`)
    const [resource] = json['application-resources']
    assert.deepEqual(Object.keys(resource), ['app-local-state', 'deleted', 'id'])
    assert.equal(resource.deleted, true)
  }
  assert.deepEqual((await node.get(`/v2/accounts/${alice.address}/applications`)).json['application-resources'], [])
})

const b64 = (name: string): string => Buffer.from(name).toString('base64')

/** An application that puts its second argument into the box named by the first, or deletes that box without one. */
async function boxed(node: TestNode, puts: readonly (readonly [string, string?])[]) {
  const alice = node.funded(0)
  const source = `txn NumAppArgs; int 2; ==; bnz put; txna ApplicationArgs 0; box_del; return
    put: txna ApplicationArgs 0; txna ApplicationArgs 1; box_put; int 1`
  const apid = await deploy(node, alice, source)
  fundApplication(node, apid)
  const rounds: bigint[] = []
  for (const put of puts) {
    const apaa = put.map((one) => Buffer.from(one!))
    await node.send(sign(node.txn('appl', alice, { apid, apaa, apbx: [{ n: apaa[0] }] }), alice))
    rounds.push(node.ledger.last.round)
  }
  return { apid, rounds, path: `/v2/applications/${apid}/boxes` }
}

const names = ({ boxes }: { boxes: { name: string }[] }): string[] =>
  boxes.map(({ name }) => Buffer.from(name, 'base64').toString())

test('the token of the next page of boxes is the last name of this one, and the next page begins after it', async () => {
  const { node } = await setUp()
  const { path } = await boxed(node, [
    ['b', '2'],
    ['a', '1'],
    ['ab', '3'],
    ['c', ''],
  ])
  const { json: first } = await node.get(`${path}?limit=2`)
  assert.deepEqual([names(first), first['next-token']], [['a', 'ab'], `b64:${b64('ab')}`])
  const { json: second } = await node.get(`${path}?limit=2&next=${encodeURIComponent(first['next-token'])}`)
  assert.deepEqual([names(second), second['next-token']], [['b', 'c'], undefined])
  const { json: prefixed } = await node.get(`${path}?prefix=str:a&next=str:a&include=values`)
  assert.deepEqual(prefixed.boxes, [{ name: b64('ab'), value: b64('3') }])
  assert.deepEqual(names((await node.get(`${path}?next=str:aa`)).json), ['ab', 'b', 'c'])
  const { boxes } = (await node.get(`${path}?next=str:b&include=values`)).json
  assert.deepEqual(boxes, [{ name: b64('c'), value: '' }])
})

test('boxes are listed as of a round, and the response names it', async () => {
  const { node } = await setUp()
  const { path, rounds } = await boxed(node, [['a', '1'], ['b', '2'], ['a', 'c'], ['a'], ['b']])
  const at = async (round: bigint) => (await node.get(`${path}?include=values&round=${round}`)).json
  const [a, b] = [
    { name: b64('a'), value: b64('1') },
    { name: b64('b'), value: b64('2') },
  ]
  assert.deepEqual(await at(rounds[0]! - 1n), { boxes: [], round: Number(rounds[0]) - 1 })
  assert.deepEqual(await at(rounds[0]!), { boxes: [a], round: Number(rounds[0]) })
  assert.deepEqual((await at(rounds[1]!)).boxes, [a, b])
  assert.deepEqual((await at(rounds[2]!)).boxes, [{ name: b64('a'), value: b64('c') }, b])
  assert.deepEqual((await at(rounds[3]!)).boxes, [b])
  assert.deepEqual((await at(rounds[4]!)).boxes, [])
  const future = await node.get(`${path}?round=${rounds[4]! + 1n}`)
  assert.equal(errorMessageOf(future), 'given round is greater than the latest round')
  await node.post('/devnet/mine', { rounds: 101 })
  const old = await node.get(`${path}?round=${rounds[4]!}`)
  assert.equal(errorMessageOf(old), 'given round is no longer available; use a more recent round')
})

test('a page of boxes ends before a million bytes of names and values, but has one box at least', async () => {
  const { node, alice } = await setUp()
  const source = 'txna ApplicationArgs 0; int 16384; box_create; assert; int 1'
  const apid = await deploy(node, alice, source)
  fundApplication(node, apid, 1_000_000_000n)
  for (let count = 0; count < 64; count++) {
    const apaa = [Buffer.from(`box ${String(count).padStart(2, '0')}`)]
    const apbx = [{ n: apaa[0] }, ...Array.from({ length: 7 }, () => ({}))]
    await node.send(sign(node.txn('appl', alice, { apid, apaa, apbx }), alice))
  }
  const path = `/v2/applications/${apid}/boxes`
  const { json: page } = await node.get(`${path}?include=values`)
  // Each has 16,384 bytes, a name of 6, and a key of 11 before it.
  assert.equal(page.boxes.length, Math.floor(1_000_000 / (16_384 + 6 + 11)))
  assert.equal(page['next-token'], `b64:${b64('box 59')}`)
  assert.equal((await node.get(`${path}?limit=100`)).json.boxes.length, 64)
})

test('boxes without paging beyond the maximum of the client are refused with the numbers', async () => {
  const { node } = await setUp()
  const { path } = await boxed(node, [
    ['a', '1'],
    ['b', '2'],
  ])
  assert.deepEqual(names((await node.get(`${path}?max=2`)).json), ['a', 'b'])
  const { status, json } = await node.get(`${path}?max=1`)
  assert.deepEqual([status, json.message], [400, 'Result limit exceeded'])
  const { hint, ...data } = json.data
  assert.deepEqual(data, { max: 1, 'max-api-box-per-application': 100_000, 'total-boxes': 2 })
})
