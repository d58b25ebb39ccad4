/** Deploys and calls an application with the published AlgoKit client: an ARC-56 contract with ABI methods. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { AlgorandClient, algo, Config, microAlgo } from '@algorandfoundation/algokit-utils'
import { startDevnet } from './start.test.helper.js'

const timeout = 300_000
const silent = { error() {}, warn() {}, info() {}, verbose() {}, debug() {} }
Config.configure({ logger: silent })

const approval = `#pragma version 10
txn ApplicationID
bz created
txn NumAppArgs
bz bare
method "hello(string)string"
method "put(string,byte[])void"
method "pay(address,uint64)void"
method "count()uint64"
method "fail()void"
txna ApplicationArgs 0
match hello put pay count fail
err
created:
byte "greeting"
byte TMPL_GREETING
app_global_put
int 1
return
bare:
txn OnCompletion
int UpdateApplication
==
bnz update
txn OnCompletion
int DeleteApplication
==
bnz delete
txn OnCompletion
int OptIn
==
assert
txn Sender
byte "since"
global Round
app_local_put
int 1
return
update:
int TMPL_UPDATABLE
return
delete:
int TMPL_DELETABLE
return
hello:
byte 0x151f7c75
byte "greeting"
app_global_get
txna ApplicationArgs 1
extract 2 0
concat
dup
len
itob
extract 6 2
swap
concat
concat
log
byte "count"
dup
app_global_get
int 1
+
app_global_put
int 1
return
put:
txna ApplicationArgs 1
extract 2 0
dup
box_del
pop
txna ApplicationArgs 2
box_put
int 1
return
pay:
itxn_begin
int pay
itxn_field TypeEnum
txna ApplicationArgs 1
itxn_field Receiver
txna ApplicationArgs 2
btoi
itxn_field Amount
int 0
itxn_field Fee
itxn_submit
int 1
return
count:
byte 0x151f7c75
byte "count"
app_global_get
itob
concat
log
int 1
return
fail:
int 0
assert // the reason of the failure
int 1
`

const method = (name: string, args: readonly string[], returns: string, readonly = false) => ({
  name,
  args: args.map((type) => ({ type })),
  returns: { type: returns },
  actions: { create: [], call: ['NoOp' as const] },
  readonly,
})

const contract = (version: string) => ({
  arcs: [4, 56],
  name: 'Greeter',
  structs: {},
  methods: [
    method('hello', ['string'], 'string'),
    method('put', ['string', 'byte[]'], 'void'),
    method('pay', ['address', 'uint64'], 'void'),
    method('count', [], 'uint64', true),
    method('fail', [], 'void'),
  ],
  state: {
    schema: { global: { ints: 1, bytes: 1 }, local: { ints: 1, bytes: 0 } },
    keys: {
      global: {
        greeting: { keyType: 'AVMString', valueType: 'AVMBytes', key: btoa('greeting') },
        count: { keyType: 'AVMString', valueType: 'AVMUint64', key: btoa('count') },
      },
      local: { since: { keyType: 'AVMString', valueType: 'AVMUint64', key: btoa('since') } },
      box: {},
    },
    maps: { global: {}, local: {}, box: { kept: { keyType: 'AVMString', valueType: 'byte[]' } } },
  },
  bareActions: {
    create: ['NoOp' as const],
    call: ['OptIn' as const, 'UpdateApplication' as const, 'DeleteApplication' as const],
  },
  source: {
    approval: btoa(`${approval}// ${version}\nbyte "${version}"\npop\n`),
    clear: btoa('#pragma version 10\nint 1\n'),
  },
  templateVariables: {
    GREETING: { type: 'AVMBytes' },
    UPDATABLE: { type: 'AVMUint64' },
    DELETABLE: { type: 'AVMUint64' },
  },
})

async function setUp(t: TestContext) {
  const devnet = await startDevnet(t, { indexer: { port: 0 } })
  const algorand = AlgorandClient.fromConfig({
    algodConfig: { server: devnet.url, token: '' },
    indexerConfig: { server: devnet.indexerUrl!, token: '' },
  })
  algorand.setSuggestedParamsCacheTimeout(0)
  const [alice, bob] = devnet.accounts.map(({ mnemonic }) => String(algorand.account.fromMnemonic(mnemonic).addr))
  const factory = (version = 'v1') =>
    algorand.client.getAppFactory({
      // biome-ignore lint/suspicious/noExplicitAny: the literal types of the contract
      appSpec: contract(version) as any,
      defaultSender: alice!,
      deployTimeParams: { GREETING: 'Hello, ' },
      updatable: true,
      deletable: true,
    })
  return { devnet, algorand, alice: alice!, bob: bob!, factory }
}

test('deploys once, then updates and replaces', { timeout }, async (t) => {
  const { factory } = await setUp(t)
  const first = await factory().deploy({})
  assert.equal(first.result.operationPerformed, 'create')
  const again = await factory().deploy({})
  assert.equal(again.result.operationPerformed, 'nothing')
  assert.equal(again.appClient.appId, first.appClient.appId)
  const updated = await factory('v2').deploy({ onUpdate: 'update' })
  assert.equal(updated.result.operationPerformed, 'update')
  assert.equal(updated.appClient.appId, first.appClient.appId)
  const replaced = await factory('v3').deploy({ onUpdate: 'replace' })
  assert.equal(replaced.result.operationPerformed, 'replace')
  assert.notEqual(replaced.appClient.appId, first.appClient.appId)
})

test('calls ABI methods, reads state, and finds boxes and accounts by itself', { timeout }, async (t) => {
  const { factory, algorand, alice, bob } = await setUp(t)
  const { appClient } = await factory().deploy({})
  assert.equal((await appClient.send.call({ method: 'hello', args: ['devnet'] })).return, 'Hello, devnet')
  assert.equal((await appClient.send.call({ method: 'count', args: [] })).return, 1n)
  const state = await appClient.state.global.getAll()
  assert.deepEqual([state['count'], Buffer.from(state['greeting'] as Uint8Array).toString()], [1n, 'Hello, '])
  await appClient.fundAppAccount({ amount: algo(2) })
  await appClient.send.call({ method: 'put', args: ['name', new Uint8Array([1, 2, 3])] })
  assert.deepEqual(await appClient.getBoxValue('name'), new Uint8Array([0, 3, 1, 2, 3]))
  assert.deepEqual(
    (await appClient.getBoxNames()).map(({ name }) => name),
    ['name'],
  )
  const before = (await algorand.account.getInformation(bob)).balance.microAlgos
  const paid = await appClient.send.call({
    method: 'pay',
    args: [bob, 12_345n],
    coverAppCallInnerTransactionFees: true,
    maxFee: microAlgo(5000),
  })
  assert.equal(paid.confirmation.innerTxns?.length, 1)
  assert.equal((await algorand.account.getInformation(bob)).balance.microAlgos, before + 12_345n)
  await appClient.send.bare.optIn({ sender: bob })
  assert.deepEqual(await appClient.state.local(bob).getAll(), { since: paid.confirmation.confirmedRound! + 1n })
  await appClient.send.bare.delete({ sender: alice })
  await assert.rejects(appClient.send.call({ method: 'hello', args: ['devnet'] }))
})

test('several calls make one group', { timeout }, async (t) => {
  const { factory, algorand, alice, bob } = await setUp(t)
  const { appClient } = await factory().deploy({})
  // Its types forbid the undefined members that it returns.
  const call = async (name: string, args: string[]) => (await appClient.params.call({ method: name, args })) as never
  const result = await algorand
    .newGroup()
    .addAppCallMethodCall(await call('hello', ['one']))
    .addPayment({ sender: alice, receiver: bob, amount: algo(1) })
    .addAppCallMethodCall(await call('count', []))
    .send()
  assert.deepEqual(
    result.returns?.map(({ returnValue }) => returnValue),
    ['Hello, one', 1n],
  )
})

test('an error names the line of the source', { timeout }, async (t) => {
  const { factory } = await setUp(t)
  const { appClient } = await factory().deploy({})
  await assert.rejects(appClient.send.call({ method: 'fail', args: [] }), (error: Error) => {
    assert.match(error.message, /assert failed pc=\d+/)
    assert.match(`${error.message}\n${error.stack}`, /the reason of the failure|assert/)
    return true
  })
})
