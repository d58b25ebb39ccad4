/** Differences that a comparison with a running node has shown, each in its smallest form. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as MapKey from './ledger/MapKey.js'
import { appAddress } from './ledger/programs/AppRecords.js'
import { compile, deploy, fundApplication } from './testing/applications.test.helper.js'
import { errorMessageOf, type Person, sign, signGroup, TestNode } from './testing/TestNode.test.helper.js'

const pay = 'itxn_begin; int pay; itxn_field TypeEnum; int 1000; itxn_field Fee; itxn_submit'

async function called(source: string): Promise<{ node: TestNode; apid: bigint; alice: Person }> {
  const node = new TestNode()
  const alice = node.funded(0)
  const apid = await deploy(node, alice, source)
  fundApplication(node, apid)
  return { node, apid, alice }
}

test('a block in JSON has the effects of programs, and its fees those of inner transactions', async () => {
  const { node, apid, alice } = await called(
    `byte "g"; byte 0xc3; app_global_put; byte "h"; int 7; app_global_put; byte 0xe28241; log; ${pay}; int 1`,
  )
  const { json: created } = await node.get(`/v2/blocks/${node.ledger.last.round}`)
  assert.equal(created.block.txns[0].apid, Number(apid))
  await node.send(sign(node.txn('appl', alice, { apid, fee: 2000n }), alice))
  const { block } = (await node.get(`/v2/blocks/${node.ledger.last.round}`)).json
  const { gd, lg, itx } = block.txns[0].dt
  assert.deepEqual(gd, { g: { at: 1, bs: '\ufffd' }, h: { at: 2, ui: 7 } })
  // One replacement character for each byte that is not UTF-8.
  assert.deepEqual(lg, ['\ufffd\ufffdA'])
  assert.deepEqual([itx.length, itx[0].txn.type, itx[0].txn.fee], [1, 'pay', 1000])
  assert.equal(block.fc, 3000)
})

test('the logs of a block are those of its calls, with the application and the transaction', async () => {
  const { node, apid, alice } = await called('byte "one"; log; byte "two"; log; int 1')
  const txId = await node.send(sign(node.txn('appl', alice, { apid }), alice))
  const { logs } = (await node.get(`/v2/blocks/${node.ledger.last.round}/logs`)).json
  assert.deepEqual(logs, [{ 'application-index': Number(apid), logs: ['b25l', 'dHdv'], txId }])
})

test('the error of a submitted call has the last instructions', async () => {
  const { node, apid, alice } = await called('int 1; int 2; -; int 1')
  const message = errorMessageOf(await node.submit(sign(node.txn('appl', alice, { apid }), alice)))
  assert.match(message, /- would result negative\. Details: app=\d+, pc=\d+, opcodes=.*; pushint 2; -$/)
})

test('an inner transaction cannot name the application 0 or the asset 0, except next to an access list', async () => {
  const zero = (field: string) => `itxn_begin; int appl; itxn_field TypeEnum; int 0; itxn_field ${field}; int 1`
  for (const [field, reason] of [
    ['ApplicationID', /unavailable App 0\. Details/],
    ['XferAsset', /unavailable Asset 0 during assignment/],
  ] as const) {
    const { node, apid, alice } = await called(zero(field))
    const fields = { apid, fee: 2000n }
    assert.match(errorMessageOf(await node.submit(sign(node.txn('appl', alice, fields), alice))), reason)
    const al = [{ d: node.funded(1).publicKey }]
    await node.send(sign(node.txn('appl', alice, { ...fields, al }), alice))
  }
})

test('an application is not created with an access list and a program before version 9', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const program = await compile('#pragma version 8\nint 1')
  const txn = node.txn('appl', alice, { apap: program, apsu: program, al: [{ d: node.funded(1).publicKey }] })
  assert.match(
    errorMessageOf(await node.submit(sign(txn, alice))),
    /: check failed on ApprovalProgram: pre-sharedResources program cannot be invoked with tx\.Access$/,
  )
})

test('a call of a program before version 9 names the field that would make local state accessible', async () => {
  const { node, apid: inner, alice } = await called('int 1')
  const program = await compile('#pragma version 6\nint 1')
  const old = await deploy(node, alice, 'int 1', { apap: program, apsu: program })
  const outer = await deploy(
    node,
    alice,
    `itxn_begin; int appl; itxn_field TypeEnum; int ${old}; itxn_field ApplicationID; itxn_submit; int 1`,
  )
  fundApplication(node, outer)
  const group = signGroup([
    [node.txn('appl', alice, { apid: inner, apfa: [old], fee: 3000n }), alice],
    [node.txn('appl', alice, { apid: outer }), alice],
  ])
  assert.match(
    errorMessageOf(await node.submit(...group)),
    new RegExp(
      `logic eval error: appl ApplicationID: unavailable Local State ${old}\\+[A-Z2-7]{58} would be accessible`,
    ),
  )
})

test('the global state of an application that was deleted cannot be read', async () => {
  const { node, apid: deleted, alice } = await called('int 1')
  const reader = await deploy(
    node,
    alice,
    `txn NumApplications; bz end; txna Applications 1; byte "k"; app_global_get_ex; pop; pop; end: int 1`,
  )
  await node.send(sign(node.txn('appl', alice, { apid: reader, apfa: [deleted] }), alice))
  await node.send(sign(node.txn('appl', alice, { apid: deleted, apan: 5n }), alice))
  const message = errorMessageOf(
    await node.submit(sign(node.txn('appl', alice, { apid: reader, apfa: [deleted] }), alice)),
  )
  assert.match(message, new RegExp(`logic eval error: app ${deleted} does not exist\\. Details`))
})

const trace = { enable: true, 'state-change': true }

test('the initial states of a simulation leave out boxes that a write did not find', async () => {
  const { node, apid, alice } = await called('byte "b"; int 0; int 0; byte "x"; box_splice; int 1')
  const call = sign(node.txn('appl', alice, { apid, apbx: [{ n: Buffer.from('b') }] }), alice)
  const { json } = await node.simulate([call], { 'exec-trace-config': trace })
  assert.deepEqual(json['initial-states'], { 'app-initial-states': [{ id: Number(apid) }] })
})

test('the initial states of a simulation have the id that a program names for a box, even if it is 0', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const source = '#pragma version 13\ntxn ApplicationID; bz end; int 0; byte "b"; app_box_len; pop; pop; end: int 1'
  const apap = await compile(source)
  const apid = await deploy(node, alice, 'int 1', { apap, apsu: await compile('#pragma version 13\nint 1') })
  const call = sign(node.txn('appl', alice, { apid, apbx: [{ n: Buffer.from('b') }] }), alice)
  const { json } = await node.simulate([call], { 'exec-trace-config': trace })
  const [state] = json['initial-states']['app-initial-states']
  assert.deepEqual([state.id ?? 0, state['app-boxes'].kvs], [0, [{ key: 'Yg==', value: { type: 0 } }]])
})

test('the initial states of a simulation have what a program names, even if it cannot use it', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const far = `byte 0x${'07'.repeat(32)}`
  const none = { key: 'aw==', value: { type: 0 } }
  const zero = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'
  for (const [body, id, state, unnamed] of [
    ['int 5; byte "k"; app_local_get', undefined, { 'app-locals': [{ kvs: [none] }] }, true],
    [`${far}; byte "k"; app_local_del`, undefined, { 'app-locals': [{ kvs: [none] }] }, false],
    ['int 5; int 0; byte "k"; app_local_get_ex', 0, { 'app-locals': [{ kvs: [none] }] }, true],
    ['txn Sender; int 99999999; byte "k"; app_local_get_ex', 0, { 'app-locals': [{ kvs: [none] }] }, false],
    ['int 99999999; byte "k"; app_global_get_ex', 0, { 'app-globals': { kvs: [none] } }, false],
    ['int 99999999; byte "k"; app_global_get_ex', 99999999, { 'app-globals': { kvs: [none] } }, true],
  ] as const) {
    const apid = await deploy(node, alice, `txn ApplicationID; bz end; ${body}; end: int 1; return`)
    const call = sign(node.txn('appl', alice, { apid }), alice)
    const options = { 'exec-trace-config': trace, 'allow-unnamed-resources': unnamed }
    const { json } = await node.simulate([call], options)
    const states = json['initial-states']['app-initial-states']
    assert.deepEqual(states, [{ ...state, id: id ?? Number(apid) }], body)
    const used = json['txn-groups'][0]['unnamed-resources-accessed']
    const isLocal = unnamed && 'app-locals' in state
    assert.deepEqual(used?.['app-locals'], isLocal ? [{ account: zero, app: Number(apid) }] : undefined, body)
  }
})

test('the trace of a submission of an inner call has the values above the height of that call', async () => {
  const { node, apid: inner, alice } = await called('int 1')
  const call = `itxn_begin; int appl; itxn_field TypeEnum; int ${inner}; itxn_field ApplicationID; itxn_submit`
  const outer = await deploy(node, alice, `txn ApplicationID; bz end; int 7; int 8; ${call}; pop; pop; end: int 1`)
  fundApplication(node, outer)
  const signed = sign(node.txn('appl', alice, { apid: outer, apfa: [inner], fee: 5000n }), alice)
  const { json } = await node.simulate([signed], { 'exec-trace-config': { enable: true, 'stack-change': true } })
  const units = json['txn-groups'][0]['txn-results'][0]['exec-trace']['approval-program-trace']
  const submission = units.find((unit: { 'spawned-inners'?: number[] }) => unit['spawned-inners'] !== undefined)
  assert.deepEqual(submission['stack-additions'], [
    { type: 2, uint: 7 },
    { type: 2, uint: 8 },
  ])
})

test('references for the bytes of boxes that a simulation adds name unnamed boxes, and do not count access lists', async () => {
  const create = 'txna ApplicationArgs 0; txna ApplicationArgs 1; btoi; box_create; pop'
  const { node, apid, alice } = await called(`txn NumAppArgs; bz end; ${create}; end: int 1`)
  const call = (name: string, bytes: number, fields: object) => {
    const size = new Uint8Array(8)
    new DataView(size.buffer).setBigUint64(0, BigInt(bytes))
    return sign(node.txn('appl', alice, { apid, apaa: [Buffer.from(name), size], ...fields }), alice)
  }
  const reference = (name: string) => ({ n: Buffer.from(name) })
  await node.send(call('e', 4096, { apbx: [reference('e'), {}] }))
  const unnamed = { 'allow-unnamed-resources': true }
  for (const [bytes, fields, expected] of [
    [10, { apbx: [reference('b')] }, undefined],
    [10, { al: [{ b: reference('b') }] }, { 'extra-box-refs': 1 }],
    [2049, { al: [{ b: reference('b') }] }, { 'extra-box-refs': 2 }],
    [10, { apbx: [reference('e')] }, { boxes: [{ app: Number(apid), name: 'Yg==' }] }],
  ] as const) {
    const { json } = await node.simulate([call('b', bytes, fields)], unnamed)
    assert.deepEqual(json['txn-groups'][0]['unnamed-resources-accessed'], expected)
  }
})

test('a failed change of local state does not name an account that the transaction does not name', async () => {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), node.funded(1)]
  const put = `byte 0x${Buffer.from(bob.publicKey).toString('hex')}; byte "k"; byte "text"; app_local_put`
  const apid = await deploy(node, alice, `txn ApplicationID; bz end; txn NumAppArgs; bz end; ${put}; end: int 1`, {
    apls: { nui: 1n },
  })
  await node.send(sign(node.txn('appl', bob, { apid, apan: 1n }), bob))
  const naming = node.txn('appl', alice, { apid, apat: [bob.publicKey] })
  const calling = node.txn('appl', alice, { apid, apaa: [Uint8Array.of(1)] })
  const { json } = await node.simulate(
    signGroup([
      [naming, alice],
      [calling, alice],
    ]),
  )
  const [change] = json['txn-groups'][0]['txn-results'][1]['txn-result']['local-state-delta']
  assert.equal(change.address, 'Invalid Account Index 1 in LocalDelta')
})

test('an update cannot have more pages than its application', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const padded = (bytes: number) => compile(`int 1; byte 0x${'00'.repeat(bytes)}; pop`)
  const apid = await deploy(node, alice, 'int 1')
  const [short, half, long] = [await padded(10), await padded(1100), await padded(2100)]
  const update = (apap: Uint8Array, apsu: Uint8Array, fields: object = {}) =>
    node.submit(sign(node.txn('appl', alice, { apid, apan: 4n, apap, apsu, ...fields }), alice))
  for (const [apap, apsu, reason] of [
    [long, short, `approval program too long. (${long.length} > 2048)`],
    [short, long, `clear state program too long. (${long.length} > 2048)`],
    [half, half, `app programs too long. (${half.length} + ${half.length} > 2048)`],
  ] as const) {
    assert.ok(errorMessageOf(await update(apap, apsu)).endsWith(reason), reason)
    // With new sizes, the transaction itself is not well-formed.
    assert.ok(errorMessageOf(await update(apap, apsu, { apgs: { nui: 1n } })).endsWith(`invalid : ${reason}`), reason)
  }
  assert.equal((await update(long, short, { apep: 1 })).status, 200)
  assert.equal((await update(half, half)).status, 200)
})

test('a program of version 5 does not read the effects of its group', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  for (const version of [5, 6]) {
    const apap = await compile(`#pragma version ${version}\ngtxn 0 CreatedAssetID; pop; int 1`)
    const creation = node.txn('appl', alice, { apap, apsu: await compile(`#pragma version ${version}\nint 1`) })
    const response = await node.submit(
      ...signGroup([
        [node.pay(alice, alice, 1n), alice],
        [creation, alice],
      ]),
    )
    if (version === 6) assert.equal(response.status, 200)
    else assert.match(errorMessageOf(response), /: Unable to obtain effects from top-level transactions\. Details/)
  }
})

test('an access list has to name the account of an old application that is called with it', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const program = await compile('#pragma version 8\nint 1')
  const old = await deploy(node, alice, 'int 1', { apap: program, apsu: program })
  const source = `itxn_begin; int appl; itxn_field TypeEnum; int ${old}; itxn_field ApplicationID; itxn_submit; int 1`
  const outer = await deploy(node, alice, `txn ApplicationID; bz end; ${source}; return; end: int 1`)
  fundApplication(node, outer)
  const publicKeyOf = (appId: bigint) => MapKey.bytes(appAddress(appId))
  const named = [{ p: old }, { d: publicKeyOf(outer) }, { l: { d: 2n, p: 1n } }]
  const call = (fields: object) => sign(node.txn('appl', alice, { apid: outer, fee: 5000n, ...fields }), alice)
  const message = errorMessageOf(await node.submit(call({ al: named })))
  assert.match(message, /appl ApplicationID: unavailable Local State \d+\+[A-Z2-7]{58} would be accessible/)
  const own = [...named, { d: publicKeyOf(old) }, { l: { d: 4n, p: 1n } }]
  assert.equal((await node.submit(call({ al: own }))).status, 200)
  assert.equal((await node.submit(call({ apfa: [old] }))).status, 200)
  const { json } = await node.simulate([call({ al: named })], { 'allow-unnamed-resources': true })
  const accounts = [MapKey.address(appAddress(old))]
  assert.deepEqual(json['txn-groups'][0]['unnamed-resources-accessed'], { accounts })
})

test('references of access lists name an asset of a holding, and the application of local state of a new one', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const program = await compile('#pragma version 12\nint 1')
  const apid = await deploy(node, alice, 'int 1', { apap: program, apsu: program })
  const account = { d: new Uint8Array(32).fill(5) }
  const noAsset = /invalid : holding Asset reference 0 outside tx\.Access$/
  const noApplication = /invalid : 0 App in LocalsRef during app create is not allowed or necessary$/
  for (const [al, ofCreation, ofCall] of [
    [[account, { h: { d: 1n } }], noAsset, noAsset],
    [[account, { l: { d: 1n } }], noApplication, undefined],
    [[{ l: { d: 9n } }], noApplication, /invalid : locals Address reference 9 outside tx\.Access$/],
    [[account, { p: apid }, { l: { d: 1n, p: 2n } }], undefined, undefined],
  ] as const) {
    const creation = node.txn('appl', alice, { apap: program, apsu: program, al: [...al] })
    const call = node.txn('appl', alice, { apid, al: [...al] })
    for (const [txn, expected] of [
      [creation, ofCreation],
      [call, ofCall],
    ] as const) {
      const response = await node.submit(sign(txn, alice))
      if (expected === undefined) assert.equal(response.status, 200)
      else assert.match(errorMessageOf(response), expected)
    }
  }
})

test('acct_params_get and voter_params_get resolve the account before the field', async () => {
  for (const opcode of ['73', '74']) {
    for (const [account, reason] of [
      ['8003010203', /: not an address\. Details/],
      ['8109', /: invalid Account reference 9 exceeds length of tx\.Accounts 0\. Details/],
      ['8100', /: invalid (acct|voter)_params_get field 230\. Details/],
    ] as const) {
      const node = new TestNode()
      const alice = node.funded(0)
      const apap = Uint8Array.from(Buffer.from(`0d${account}${opcode}e6`, 'hex'))
      const creation = node.txn('appl', alice, { apap, apsu: Uint8Array.of(13, 0x81, 1) })
      assert.match(errorMessageOf(await node.submit(sign(creation, alice))), reason)
    }
  }
})

test('ids from 2^63 on cannot be looked up', async () => {
  const reason = 'type: uint64 values with high bit set are not supported'
  const [last, first] = [2n ** 63n - 1n, 2n ** 63n]
  const application = `roundCowBase.getCreator() cidx: ${first} ctype: 1 err: sql: converting argument $1 ${reason}`
  const inner = (type: string, field: string) =>
    `itxn_begin; int ${type}; itxn_field TypeEnum; txna Applications 1; itxn_field ${field}; itxn_submit`
  for (const [body, expected] of [
    ['txn Sender; txna Applications 1; app_opted_in', `sql: converting argument $2 ${reason}`],
    ['txn Sender; txna Applications 1; byte "k"; app_local_get_ex', `sql: converting argument $2 ${reason}`],
    ['txna Applications 1; byte "k"; app_global_get_ex', application],
    ['txna Applications 1; byte "b"; app_box_len', application],
    [inner('appl', 'ApplicationID'), application],
  ] as const) {
    const node = new TestNode()
    const alice = node.funded(0)
    const apap = await compile(`#pragma version 13\ntxn ApplicationID; bz end; ${body}; end: int 1; return`)
    const apid = await deploy(node, alice, 'int 1', { apap, apsu: await compile('#pragma version 13\nint 1') })
    fundApplication(node, apid)
    const messageFor = async (id: bigint): Promise<string> => {
      const fields = { apid, apfa: [id], apbx: [{ i: 1n, n: Buffer.from('b') }], fee: 2000n }
      const response = await node.submit(sign(node.txn('appl', alice, fields), alice))
      return response.status === 200 ? '' : errorMessageOf(response)
    }
    assert.ok((await messageFor(first)).includes(`logic eval error: ${expected}. Details`), body)
    assert.ok(!(await messageFor(last)).includes('sql'), body)
  }
})

test('a transaction that names an asset or an application from 2^63 on fails at its lookup', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const id = 2n ** 63n
  const creator = (type: number) =>
    `roundCowBase.getCreator() cidx: ${id} ctype: ${type} err: sql: converting argument $1`
  const holding = ': sql: converting argument $2'
  for (const [type, fields, expected] of [
    ['axfer', { xaid: id, arcv: alice.publicKey }, holding],
    ['axfer', { xaid: id, arcv: alice.publicKey, aamt: 5n }, holding],
    ['afrz', { faid: id, fadd: alice.publicKey }, creator(0)],
    ['acfg', { caid: id }, creator(0)],
    ['appl', { apid: id }, creator(1)],
    ['appl', { apid: id, apan: 3n }, creator(1)],
  ] as const) {
    const message = errorMessageOf(await node.submit(sign(node.txn(type, alice, fields), alice)))
    assert.ok(message.includes(expected), message)
  }
})

test('an unnamed application takes the place of its account, from version 7 on', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const other = await deploy(node, alice, 'int 1')
  const account = `byte 0x${Buffer.from(MapKey.bytes(appAddress(other))).toString('hex')}; balance; pop`
  const app = `int ${other}; byte "k"; app_global_get_ex; pop; pop`
  const address = MapKey.address(appAddress(other))
  for (const [version, body, room, expected] of [
    [6, `${account}; ${app}`, 2, { accounts: [address], apps: [Number(other)] }],
    [6, `${app}; ${account}`, 2, { accounts: [address], apps: [Number(other)] }],
    [6, `${app}; ${account}`, 1, 'unavailable Account'],
    [7, `${account}; ${app}`, 1, { apps: [Number(other)] }],
    [7, `${app}; ${account}`, 1, { apps: [Number(other)] }],
    [9, `${account}; ${app}`, 1, { apps: [Number(other)] }],
  ] as const) {
    const apap = await compile(`#pragma version ${version}\n${body}; int 1`)
    const apsu = await compile(`#pragma version ${version}\nint 1`)
    const apat = Array.from({ length: 8 - room }, (_, index) => new Uint8Array(32).fill(index + 1))
    const creation = sign(node.txn('appl', alice, { apap, apsu, apat }), alice)
    const { json } = await node.simulate([creation], { 'allow-unnamed-resources': true })
    const [group] = json['txn-groups']
    const used = group['unnamed-resources-accessed'] ?? group['txn-results'][0]['unnamed-resources-accessed']
    if (typeof expected === 'string') assert.match(group['failure-message'], new RegExp(expected))
    else assert.deepEqual(used, expected, `${version} ${body}`)
  }
})

test('a simulation adds no references for the bytes of an instruction that fails', async () => {
  const write = 'byte "e"; int 100; box_create; pop'
  for (const [body, reason] of [
    ['byte "b"; int 5000; box_resize', /no such box/],
    ['byte "e"; int 5000; box_create; pop', /box size mismatch/],
    ['byte "e"; byte "x"; box_put', /wrong size/],
    ['byte "e"; int 99; byte "xx"; box_replace', /replacement end/],
    ['byte "e"; int 0; byte "x"; box_replace', undefined],
  ] as const) {
    const { node, apid, alice } = await called(
      `txn ApplicationID; bz end; txn NumAppArgs; bz end; txn NumAppArgs; int 1; ==; bnz first; ${body}; b end; first: ${write}; end: int 1`,
    )
    const named = [{ n: Buffer.from('b') }, { n: Buffer.from('e') }]
    await node.send(sign(node.txn('appl', alice, { apid, apaa: [Uint8Array.of(1)], apbx: named }), alice))
    const al = named.map((b) => ({ b }))
    const call = sign(node.txn('appl', alice, { apid, apaa: [Uint8Array.of(1), Uint8Array.of(2)], al }), alice)
    const { json } = await node.simulate([call], { 'allow-unnamed-resources': true })
    const [group] = json['txn-groups']
    if (reason !== undefined) assert.match(group['failure-message'], reason)
    const expected = reason === undefined ? { 'extra-box-refs': 1 } : undefined
    assert.deepEqual(group['unnamed-resources-accessed'], expected, body)
  }
})

test('a failed instruction names an unnamed box, and keeps the references of earlier instructions', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  const other = await deploy(node, alice, 'int 1')
  const apsu = await compile('#pragma version 13\nint 1')
  const apap = await compile(
    `#pragma version 13\nbyte "own"; box_len; pop; pop; int ${other}; byte "c"; app_box_len; pop; pop; int 1`,
  )
  const creation = sign(node.txn('appl', alice, { apap, apsu }), alice)
  const { json } = await node.simulate([creation], { 'allow-unnamed-resources': true })
  const [group] = json['txn-groups']
  assert.match(group['failure-message'], /may not read box/)
  const boxes = [{ app: Number(other), name: Buffer.from('c').toString('base64') }]
  assert.deepEqual(group['unnamed-resources-accessed'], { boxes, 'extra-box-refs': 1 })
})

test('creating a box that exists does not count for the bytes that a group can write', async () => {
  for (const [bytes, isAccepted] of [
    [4096, true],
    [4097, false],
  ] as const) {
    const { node, apid, alice } = await called(
      `txn ApplicationID; bz end; txn NumAppArgs; bz end; byte "e"; int 100; box_create; bz again; b end; again: byte "b"; int ${bytes}; box_create; pop; end: int 1`,
    )
    const apbx = [{ n: Buffer.from('b') }, { n: Buffer.from('e') }]
    const call = () => sign(node.txn('appl', alice, { apid, apaa: [Uint8Array.of(1)], apbx }), alice)
    await node.send(call())
    const response = await node.submit(call())
    if (isAccepted) assert.equal(response.status, 200)
    else assert.match(errorMessageOf(response), /write budget exceeded \(4097 > 4096\) while creating box 0x62/)
  }
})

test('an index of an account is beyond the end of the access list, or that of another resource', async () => {
  for (const [index, reason] of [
    [3n, 'invalid Account reference 3 exceeds length of tx.Access 2'],
    [9_999_974_429_205_000n, 'invalid Account reference 9999974429205000 exceeds length of tx.Access 2'],
    [2n, 'address reference 2 is not an Address in tx.Access'],
  ] as const) {
    const { node, apid, alice } = await called(`int ${index}; balance; pop; int 1`)
    const call = node.txn('appl', alice, { apid, al: [{ d: new Uint8Array(32).fill(5) }, { s: 1234n }] })
    assert.match(errorMessageOf(await node.submit(sign(call, alice))), new RegExp(`logic eval error: ${reason}\\.`))
  }
})
