/** Application calls with unmodified algosdk, over HTTP. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import algosdk from 'algosdk'
import { Devnet } from './Devnet.js'

const counter = `#pragma version 10
txn ApplicationID
bz created
txn OnCompletion
int OptIn
==
bnz joined
txna ApplicationArgs 0
byte "fail"
==
bnz fail
txna ApplicationArgs 0
byte "pay"
==
bnz pay
txna ApplicationArgs 0
byte "box"
==
bnz box
byte "count"
byte "count"
app_global_get
int 1
+
app_global_put
byte "called"
log
int 1
return
created:
byte "count"
int 0
app_global_put
int 1
return
joined:
txn Sender
byte "since"
global Round
app_local_put
int 1
return
fail:
err
pay:
itxn_begin
int pay
itxn_field TypeEnum
txn Sender
itxn_field Receiver
int 5000
itxn_field Amount
int 0
itxn_field Fee
itxn_submit
int 1
return
box:
byte "b"
byte "in the box"
box_put
int 1
`

async function setUp(t: TestContext) {
  const devnet = await Devnet.start({ port: 0, accounts: 2, indexer: { port: 0 } })
  t.after(() => devnet.stop())
  const algod = new algosdk.Algodv2('', devnet.url)
  const { addr, sk } = algosdk.mnemonicToSecretKey(devnet.accounts[0]!.mnemonic)
  return { devnet, algod, sender: addr, signer: algosdk.makeBasicAccountTransactionSigner({ addr, sk }), sk }
}

async function compile(algod: algosdk.Algodv2, source: string): Promise<Uint8Array> {
  const { result } = await algod.compile(source).do()
  return algosdk.base64ToBytes(result)
}

async function deploy({ algod, sender, sk }: Awaited<ReturnType<typeof setUp>>): Promise<bigint> {
  const txn = algosdk.makeApplicationCreateTxnFromObject({
    sender,
    suggestedParams: await algod.getTransactionParams().do(),
    approvalProgram: await compile(algod, counter),
    clearProgram: await compile(algod, '#pragma version 10\nint 1'),
    onComplete: algosdk.OnApplicationComplete.NoOpOC,
    numGlobalInts: 1,
    numGlobalByteSlices: 0,
    numLocalInts: 1,
    numLocalByteSlices: 0,
  })
  const { txid } = await algod.sendRawTransaction(txn.signTxn(sk)).do()
  const confirmed = await algosdk.waitForConfirmation(algod, txid, 1)
  return confirmed.applicationIndex!
}

type Environment = Awaited<ReturnType<typeof setUp>>
type CallFields = Partial<Parameters<typeof algosdk.makeApplicationNoOpTxnFromObject>[0]> & { note?: Uint8Array }

let notes = 0

async function call({ algod, sender, sk }: Environment, appIndex: bigint, argument: string, fields: CallFields = {}) {
  const suggestedParams = await algod.getTransactionParams().do()
  const txn = algosdk.makeApplicationNoOpTxnFromObject({
    sender,
    suggestedParams: { ...suggestedParams, flatFee: true, fee: 2000n },
    appIndex,
    appArgs: [new TextEncoder().encode(argument)],
    note: Uint8Array.of(notes++),
    ...fields,
  })
  const { txid } = await algod.sendRawTransaction(txn.signTxn(sk)).do()
  return algosdk.waitForConfirmation(algod, txid, 1)
}

test('creates an application, calls it and reads its state', async (t) => {
  const environment = await setUp(t)
  const { algod, sender } = environment
  const appId = await deploy(environment)
  const confirmed = await call(environment, appId, 'count')
  assert.deepEqual(
    confirmed.logs?.map((log) => Buffer.from(log).toString()),
    ['called'],
  )
  assert.equal(confirmed.globalStateDelta?.[0]?.value.uint, 1n)
  const { params } = await algod.getApplicationByID(appId).do()
  assert.equal(params?.globalState?.[0]?.value.uint, 1n)
  assert.equal(params?.creator.toString(), sender.toString())
  const account = await algod.accountInformation(sender).do()
  assert.deepEqual([account.totalCreatedApps, account.minBalance], [1, 300_000n + 100_000n + 28_500n])
})

test('an account opts in and out, and its local state goes with it', async (t) => {
  const environment = await setUp(t)
  const { algod, sender, sk } = environment
  const appIndex = await deploy(environment)
  const suggestedParams = await algod.getTransactionParams().do()
  const joining = algosdk.makeApplicationOptInTxnFromObject({ sender, suggestedParams, appIndex })
  await algod.sendRawTransaction(joining.signTxn(sk)).do()
  const { appLocalState } = await algod.accountApplicationInformation(sender, appIndex).do()
  assert.equal(appLocalState?.keyValue?.[0]?.value.uint, 2n)
  const leaving = algosdk.makeApplicationClearStateTxnFromObject({
    sender,
    suggestedParams: await algod.getTransactionParams().do(),
    appIndex,
  })
  await algod.sendRawTransaction(leaving.signTxn(sk)).do()
  assert.equal((await algod.accountInformation(sender).do()).totalAppsOptedIn, 0)
})

test('an application pays with an inner transaction, and keeps a box', async (t) => {
  const environment = await setUp(t)
  const { algod, devnet } = environment
  const appIndex = await deploy(environment)
  devnet.fund(algosdk.getApplicationAddress(appIndex).toString(), { microAlgos: 1_000_000n })
  const confirmed = await call(environment, appIndex, 'pay')
  const [inner] = confirmed.innerTxns!
  assert.equal(inner!.txn.txn.payment?.amount, 5000n)
  assert.equal(inner!.txn.txn.sender.toString(), algosdk.getApplicationAddress(appIndex).toString())
  const name = new TextEncoder().encode('b')
  await call(environment, appIndex, 'box', { boxes: [{ appIndex: 0, name }] })
  const { value } = await algod.getApplicationBoxByName(appIndex, name).do()
  assert.equal(Buffer.from(value).toString(), 'in the box')
  const { boxes } = await algod.getApplicationBoxes(appIndex).do()
  assert.deepEqual(
    boxes.map((box) => Buffer.from(box.name).toString()),
    ['b'],
  )
})

test('a failed call changes nothing, and its error names the place', async (t) => {
  const environment = await setUp(t)
  const { algod, devnet } = environment
  const appIndex = await deploy(environment)
  const before = devnet.stateHash()
  const round = (await algod.status().do()).lastRound
  await assert.rejects(call(environment, appIndex, 'fail'), (error: Error & { response?: { body: unknown } }) => {
    assert.match(error.message, /logic eval error: err opcode executed\. Details: app=1001, pc=\d+, opcodes=.*; err;/)
    return true
  })
  assert.equal(devnet.stateHash(), before)
  assert.equal((await algod.status().do()).lastRound, round)
})

test('scratch space of another transaction: only of one that ran a program, and only 256 slots', async (t) => {
  const environment = await setUp(t)
  const { algod, sender, signer } = environment
  const appIndex = await deploy(environment)
  const suggestedParams = await algod.getTransactionParams().do()
  const optIn = algosdk.makeApplicationOptInTxnFromObject({ sender, suggestedParams, appIndex })
  const remove = algosdk.makeApplicationDeleteTxnFromObject({
    ...{ sender, suggestedParams, appIndex },
    appArgs: [new TextEncoder().encode('count')],
  })
  const clear = algosdk.makeApplicationClearStateTxnFromObject({ sender, suggestedParams, appIndex })
  const failureOf = async (previous: algosdk.Transaction, source: string): Promise<string> => {
    const reader = algosdk.makeApplicationCreateTxnFromObject({
      ...{ sender, suggestedParams, onComplete: algosdk.OnApplicationComplete.NoOpOC },
      approvalProgram: await compile(algod, `#pragma version 10\n${source}`),
      clearProgram: await compile(algod, '#pragma version 10\nint 1'),
      ...{ numGlobalInts: 0, numGlobalByteSlices: 0, numLocalInts: 0, numLocalByteSlices: 0 },
    })
    const group = new algosdk.AtomicTransactionComposer()
    for (const txn of [previous, reader]) group.addTransaction({ txn, signer })
    return group.execute(algod, 1).then(
      () => 'accepted',
      (error: Error) => error.message,
    )
  }
  const bare = (txn: algosdk.Transaction) => Object.assign(txn, { group: undefined })
  assert.match(
    await failureOf(bare(optIn), 'int 0; int 256; gloadss; return'),
    /error: gloadss scratch index >= 256 \(256\)/,
  )
  const group = new algosdk.AtomicTransactionComposer()
  for (const txn of [bare(optIn), remove]) group.addTransaction({ txn, signer })
  await group.execute(algod, 1)
  assert.match(
    await failureOf(clear, 'gload 0 0; int 1; return'),
    /error: gload lookup of txn 0 that did not run a program/,
  )
})

test('a contract account pays by its logic signature, and a delegated one too', async (t) => {
  const { algod, devnet, sender, sk } = await setUp(t)
  const program = await compile(algod, '#pragma version 10\ntxn Amount\nint 1000\n<=')
  const contract = new algosdk.LogicSigAccount(program)
  devnet.fund(contract.address().toString(), { microAlgos: 1_000_000n })
  const pay = async (from: algosdk.Address, amount: number) =>
    algosdk.makePaymentTxnWithSuggestedParamsFromObject({
      sender: from,
      receiver: sender,
      amount,
      suggestedParams: await algod.getTransactionParams().do(),
    })
  const first = algosdk.signLogicSigTransactionObject(await pay(contract.address(), 1000), contract)
  await algod.sendRawTransaction(first.blob).do()
  const delegated = new algosdk.LogicSigAccount(program)
  delegated.sign(sk)
  const second = algosdk.signLogicSigTransactionObject(await pay(sender, 999), delegated)
  await algod.sendRawTransaction(second.blob).do()
  const refused = algosdk.signLogicSigTransactionObject(await pay(sender, 1001), delegated)
  await assert.rejects(algod.sendRawTransaction(refused.blob).do(), /rejected by logic/)
})

test('the indexer finds applications, boxes, logs and inner transactions', async (t) => {
  const environment = await setUp(t)
  const { devnet, sender } = environment
  const appIndex = await deploy(environment)
  const address = algosdk.getApplicationAddress(appIndex).toString()
  devnet.fund(address, { microAlgos: 1_000_000n })
  const counted = await call(environment, appIndex, 'count')
  await call(environment, appIndex, 'pay')
  await call(environment, appIndex, 'box', { boxes: [{ appIndex: 0, name: new TextEncoder().encode('b') }] })
  const { port } = new URL(devnet.indexerUrl!)
  const indexer = new algosdk.Indexer('', 'http://127.0.0.1', port)
  const { application } = await indexer.lookupApplications(appIndex).do()
  assert.equal(application?.params.creator?.toString(), sender.toString())
  assert.deepEqual(
    (await indexer.searchForApplications().do()).applications.map(({ id }) => id),
    [appIndex],
  )
  const { boxes } = await indexer.searchForApplicationBoxes(appIndex).do()
  assert.deepEqual(
    boxes.map(({ name }) => Buffer.from(name).toString()),
    ['b'],
  )
  const { logData } = await indexer.lookupApplicationLogs(appIndex).do()
  assert.deepEqual(
    logData?.map(({ logs }) => logs.map((log) => Buffer.from(log).toString())),
    [['called']],
  )
  const calls = await indexer.searchForTransactions().applicationID(Number(appIndex)).do()
  assert.equal(calls.transactions.length, 4)
  assert.equal(calls.transactions[0]!.createdApplicationIndex, appIndex)
  const paid = await indexer.lookupAccountTransactions(address).do()
  assert.equal(paid.transactions.length, 1)
  assert.equal(paid.transactions[0]!.innerTxns?.[0]?.paymentTransaction?.amount, 5000n)
  assert.ok(counted.confirmedRound! > 0n)
})
