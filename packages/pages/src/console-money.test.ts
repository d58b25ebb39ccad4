/** Tests the console's functions for transfers, bundled by Vite as in the page. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Address, Description, Network, SignedTransaction, Transaction } from '@latchkey/algorand'
import algosdk from 'algosdk'
import { build } from 'vite'

type Bytes = Uint8Array
type Unit = { assetId: string; unitName: string; decimals: number }
type Problem = { text: string; cure?: { kind: string; address: string } }
type Submission = {
  state: { status: string; [name: string]: unknown }
  transactionId: string
  submit(): Promise<void>
  check(): Promise<void>
}

type Model = {
  'model/amountInput': { readAmount(text: string, unit: Unit): { units?: bigint; error?: string } }
  'model/network': { submittedHash(genesisHashes: string[], nodeHash: string | undefined): string }
  'model/paymentUri': {
    format(request: object): string
    parse(text: string): { address: string; assetId?: string; units?: bigint; note?: string } | undefined
  }
  'model/chosenAccount': { chosenAccount<T>(accounts: readonly T[], address: string | undefined): T | undefined }
  'model/sendDraft': {
    chosenUnit(account: object | undefined, assetId: string): { units: Unit[]; unit: Unit; isKnown: boolean }
    unitLabel(unit: Unit): string
    readDraft(draft: object, options: object): { transfer?: object; errors?: { [field: string]: string } }
    withRequest(draft: object, request: object, units: Unit[]): { draft: { [field: string]: string }; errors: object }
  }
  'model/transfer': { build(transfer: object, parameters: object): Bytes; validRounds: number }
  'model/transferChecks': { transferProblems(facts: object): Problem[] }
  submission: {
    Submission: { new (daemon: object, signed: Bytes[]): Submission; of(daemon: object, signed: Bytes[]): Submission }
  }
}

const names = [
  ...(['model/amountInput', 'model/chosenAccount', 'model/paymentUri', 'model/sendDraft', 'model/transfer'] as const),
  ...(['model/network', 'model/transferChecks', 'submission'] as const),
] as const
const directory = mkdtempSync(join(tmpdir(), 'console-money-'))
const model = {} as { -readonly [name in keyof Model]: Model[name] }

before(async () => {
  const folder = fileURLToPath(new URL('../console/', import.meta.url))
  const entry = Object.fromEntries(names.map((name) => [name, join(folder, `${name}.ts`)]))
  await build({
    configFile: false,
    logLevel: 'warn',
    build: { outDir: directory, lib: { entry, formats: ['es'], fileName: (_format, name) => `${name}.mjs` } },
  })
  for (const name of names) model[name] = await import(pathToFileURL(join(directory, `${name}.mjs`)).href)
})
after(() => rmSync(directory, { recursive: true }))

const [alice, bob] = [1, 2].map((byte) => Address.encode(new Uint8Array(32).fill(byte))) as [string, string]
const algo = { assetId: '0', unitName: 'ALGO', decimals: 6 }
const usdc = { assetId: '31566704', unitName: 'USDC', decimals: 6 }
const parameters = {
  genesisId: 'dev-v1',
  genesisHash: Buffer.alloc(32, 9).toString('base64'),
  lastRound: 500,
  minFeeMicroAlgos: '1000',
  feePerByteMicroAlgos: '0',
}

test('reads amounts exactly, with or without their unit', () => {
  const { readAmount } = model['model/amountInput']
  const cases: [string, Unit, bigint][] = [
    ['1.5', algo, 1_500_000n],
    ['2.5 USDC', usdc, 2_500_000n],
    ['2.5usdc', usdc, 2_500_000n],
    ['1,000', algo, 1_000_000_000n],
    ['0.000001', algo, 1n],
    ['3 #31566704', usdc, 3_000_000n],
    ['18446744073709.551615', algo, 2n ** 64n - 1n],
  ]
  for (const [text, unit, units] of cases) assert.equal(readAmount(text, unit).units, units, text)
})

test('an unavailable asset or account is never replaced by another one', () => {
  const { readDraft, chosenUnit, withRequest, unitLabel } = model['model/sendDraft']
  const { chosenAccount } = model['model/chosenAccount']
  const holding = { ...usdc, amount: '5000000', isFrozen: false }
  const holder = { address: alice, microAlgos: '9000000', minMicroAlgos: '200000', rekeyedTo: '', assets: [holding] }
  const draft = { from: alice, assetId: usdc.assetId, to: bob, amount: '5', note: '' }
  const read = (account: object | undefined, change: object = {}) =>
    readDraft({ ...draft, ...change }, { sender: { address: alice, account }, known: [] })
  assert.deepEqual(read(holder).transfer, {
    ...{ kind: 'asset', assetId: usdc.assetId, sender: alice, receiver: bob, units: 5_000_000n, note: '' },
  })
  // Another account was selected, or the node has not answered: 5 USDC must not become 5 ALGO.
  assert.match(read({ ...holder, assets: [] }).errors!['amount']!, /does not hold asset 31566704/)
  assert.match(read(undefined).errors!['amount']!, /is unknown: the node has not responded/)
  assert.equal(chosenUnit({ ...holder, assets: [] }, usdc.assetId).unit.assetId, usdc.assetId)
  const request = withRequest({ ...draft, assetId: '0' }, { address: bob, assetId: '77', units: 5n }, [algo, usdc])
  assert.deepEqual([request.draft['assetId'], request.draft['amount']], ['77', ''])
  assert.match(read(holder, { ...request.draft, amount: '5' }).errors!['amount']!, /does not hold asset 77/)
  const accounts = [{ address: bob }, { address: alice }]
  assert.deepEqual(
    [undefined, '', alice, 'gone'].map((address) => chosenAccount(accounts, address)?.address),
    [bob, bob, alice, undefined],
  )
  assert.match(readDraft(draft, { sender: undefined, known: [] }).errors!['from']!, /Choose an account/)
  assert.deepEqual(
    ['USDC', 'ALGO', 'A\u202eB'].map((unitName) => unitLabel({ assetId: '7', unitName, decimals: 0 })),
    ['USDC (7)', '“ALGO” (7)', '“A\ufffdB” (7)'],
  )
})

test('explains an amount that is invalid, in another unit, too precise or too large', () => {
  const { readAmount } = model['model/amountInput']
  const cases: [string, Unit, RegExp][] = [
    ['', algo, /Enter an amount/],
    ['abc', algo, /not an amount/],
    ['1e3', algo, /is in e3/],
    ['-1', algo, /not an amount/],
    ['1,5', algo, /not an amount/],
    ['1.5 ALGO', usdc, /is in ALGO, but the asset is USDC/],
    ['0.0000001', algo, /at most 6 decimals/],
    ['1.5', { assetId: '7', unitName: 'BOX', decimals: 0 }, /cannot be divided/],
    ['0', algo, /above 0/],
    ['18446744073709.551616', algo, /too large/],
  ]
  for (const [text, unit, expected] of cases) assert.match(readAmount(text, unit).error ?? '', expected, text)
})

test('payment requests round-trip', () => {
  const { format, parse } = model['model/paymentUri']
  assert.equal(format({ address: alice }), `algorand://${alice}`)
  const link = format({ address: alice, assetId: '31566704', units: 2n ** 60n, note: 'tea & cake=2?' })
  assert.equal(link, `algorand://${alice}?amount=1152921504606846976&asset=31566704&note=tea%20%26%20cake%3D2%3F`)
  const note = 'tea & cake=2?'
  assert.deepEqual(parse(link), { address: alice, assetId: '31566704', units: 2n ** 60n, note })
  assert.deepEqual(parse(` algorand://${alice}?amount=5`), {
    ...{ address: alice, assetId: undefined, units: 5n, note: undefined },
  })
  assert.equal(parse(`algorand://${alice}?asset=0&amount=5`)?.assetId, undefined)
})

test('other texts and payment requests with an invalid amount are rejected', () => {
  const { parse } = model['model/paymentUri']
  const wrong = ['', alice, `https://${alice}`, 'algorand://no-address', `algorand://${alice}?amount=-1`]
  const more = [
    `algorand://${alice}?amount=1.5`,
    `algorand://${alice}?amount=${2n ** 64n}`,
    `algorand://${alice}?asset=x`,
  ]
  for (const text of [...wrong, ...more, `algorand://${alice}?note=${'x'.repeat(3_000)}`]) {
    assert.equal(parse(text), undefined, text.slice(0, 90))
  }
})

test('builds the transactions that algosdk builds, valid for a bounded time', () => {
  const suggestedParams = {
    ...{ fee: 1000, flatFee: true, minFee: 1000, firstValid: 500, lastValid: 700 },
    ...{ genesisID: 'dev-v1', genesisHash: new Uint8Array(32).fill(9) },
  }
  const { build: make } = model['model/transfer']
  const note = new TextEncoder().encode('hi')
  const payment = { sender: alice, receiver: bob, amount: 1_500_000, note, suggestedParams }
  const transfer = { sender: alice, receiver: bob, amount: 5n, assetIndex: 7, suggestedParams }
  const optIn = { sender: alice, receiver: alice, amount: 0, assetIndex: 7, suggestedParams }
  const pay = algosdk.makePaymentTxnWithSuggestedParamsFromObject(payment)
  const axfer = algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject(transfer)
  const cases: [object, algosdk.Transaction][] = [
    [{ kind: 'pay', sender: alice, receiver: bob, units: 1_500_000n, note: 'hi' }, pay],
    [{ kind: 'asset', sender: alice, receiver: bob, assetId: '7', units: 5n, note: '' }, axfer],
    [{ kind: 'opt-in', sender: alice, assetId: '7' }, algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject(optIn)],
    [
      { kind: 'opt-out', sender: alice, assetId: '7' },
      algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({ ...optIn, closeRemainderTo: alice }),
    ],
  ]
  for (const [given, expected] of cases) {
    const bytes = make(given, parameters)
    assert.deepEqual(Buffer.from(bytes), Buffer.from(algosdk.encodeUnsignedTransaction(expected)))
    assert.deepEqual(Description.describe(Transaction.decode(bytes)).finalWarnings, [])
  }
})

test('a congested network gets its fee, and an excessive fee is refused', () => {
  const { build: make } = model['model/transfer']
  const transfer = { kind: 'pay', sender: alice, receiver: bob, units: 1n, note: '' }
  const busy = Transaction.decode(make(transfer, { ...parameters, feePerByteMicroAlgos: '10' }))
  assert.ok(busy.fee! > 2_000n && busy.fee! < 4_000n, String(busy.fee))
  const lying = { ...parameters, minFeeMicroAlgos: '5000000' }
  assert.throws(() => make(transfer, lying), { name: 'ConsoleError', code: 'fee_too_high' })
})

const account = (address: string, microAlgos: string, minMicroAlgos = '100000') => ({
  ...{ address, microAlgos, minMicroAlgos, rekeyedTo: '', assets: [] },
})
const asset = { ...usdc, exists: true, name: '', creator: bob, isFrozenByDefault: false }
const held = (amount: string, isFrozen = false) => ({ address: alice, isOptedIn: true, amount, isFrozen })
const none = { address: bob, isOptedIn: false, amount: '0', isFrozen: false }

function problems(transfer: object, facts: object): Problem[] {
  const base = { feeMicroAlgos: 1000n, receiver: account(bob, '200000'), asset: undefined }
  return model['model/transferChecks'].transferProblems({ transfer, ...base, ...facts })
}

test('a payment needs its amount, the fee and the minimum balance; the receiver its minimum', () => {
  const pay = (units: bigint) => ({ kind: 'pay', sender: alice, receiver: bob, units, note: '' })
  assert.deepEqual(problems(pay(899_000n), { sender: account(alice, '1000000') }), [])
  assert.deepEqual(problems(pay(899_001n), { sender: account(alice, '1000000') }), [
    {
      text: 'The account has 1 ALGO and needs 0.899001 ALGO to send, 0.001 ALGO for the fee and 0.1 ALGO that must stay: 0.000001 ALGO more.',
      cure: { kind: 'fund', address: alice },
    },
  ])
  const rich = account(alice, '1000000000')
  const [low] = problems(pay(50_000n), { sender: rich, receiver: account(bob, '0') })
  assert.match(low!.text, /would have 0.05 ALGO, but an account must hold at least 0.1 ALGO. Send at least 0.1 ALGO/)
  assert.deepEqual(problems(pay(100_000n), { sender: rich, receiver: account(bob, '0') }), [])
})

test('an asset needs opt-ins on both sides, nothing frozen, enough of it, and ALGO for the fee', () => {
  const send = { kind: 'asset', sender: alice, receiver: bob, assetId: usdc.assetId, units: 5_000_000n, note: '' }
  const good = { sender: account(alice, '1000000'), asset, senderHolding: held('5000000'), receiverHolding: held('0') }
  const texts = (change: object): string =>
    problems(send, { ...good, ...change })
      .map(({ text }) => text)
      .join(' ')
  assert.equal(texts({}), '')
  assert.match(texts({ senderHolding: none }), /has not opted in to USDC and holds none/)
  assert.match(texts({ senderHolding: held('5000000', true) }), /USDC is frozen in the account: it cannot be sent/)
  assert.match(texts({ senderHolding: held('4999999') }), /The account has only 4.999999 USDC/)
  assert.match(texts({ receiverHolding: none }), /has not opted in to USDC \(asset 31566704\)/)
  assert.deepEqual(problems(send, { ...good, receiverHolding: none })[0]!.cure, { kind: 'opt-in', address: bob })
  assert.match(texts({ receiverHolding: held('0', true) }), /frozen in the receiver’s account/)
  assert.match(texts({ sender: account(alice, '100000') }), /0.001 ALGO for the fee and 0.1 ALGO that must stay/)
  assert.match(texts({ asset: { ...asset, exists: false } }), /There is no asset 31566704/)
})

test('an opt-in needs 0.1 ALGO more, an opt-out an empty holding', () => {
  const optIn = { kind: 'opt-in', sender: alice, assetId: usdc.assetId }
  const optOut = { ...optIn, kind: 'opt-out' }
  const poor = { sender: account(alice, '200999'), asset, senderHolding: none }
  assert.match(problems(optIn, poor)[0]!.text, /0.2 ALGO that must stay: 0.000001 ALGO more/)
  assert.deepEqual(problems(optIn, { ...poor, sender: account(alice, '201000') }), [])
  assert.match(problems(optIn, { ...poor, senderHolding: held('0') })[0]!.text, /already/)
  const sender = account(alice, '200000', '200000')
  assert.deepEqual(problems(optOut, { sender, asset, senderHolding: held('0') }), [])
  assert.match(problems(optOut, { sender, asset, senderHolding: held('7') })[0]!.text, /still holds 0.000007 USDC/)
  assert.match(problems(optOut, { sender, asset, senderHolding: none })[0]!.text, /has not opted in/)
  assert.deepEqual(problems(optOut, { sender, asset: undefined, senderHolding: held('0') }), [])
})

const txn = { type: 'pay', snd: Address.decode(alice), rcv: Address.decode(bob), amt: 5n, fv: 10n, lv: 20n }
const signedOnce = (): Bytes[] => [SignedTransaction.encode({ txn, sig: new Uint8Array(64).fill(1) })]
const submitted = (state: string, more: object = {}) => ({ state, round: 0, reason: '', explanation: 'why', ...more })

test('a transaction that may be for MainNet is never treated as test money', () => {
  const { submittedHash } = model['model/network']
  const main = Network.mainnet.genesisHash
  assert.equal(submittedHash([main], 'local'), main)
  assert.equal(submittedHash(['local', main], 'local'), main)
  // Without a genesis hash the transaction is for the network of the node.
  assert.equal(submittedHash([''], main), main)
  assert.equal(submittedHash(['', 'local'], 'local'), 'local')
})

type Responses = { submit: () => Promise<unknown>; outcome?: () => Promise<unknown> }

function daemonWith({ submit, outcome }: Responses): object {
  return { call: ({ path }: { path: string }) => (path.endsWith('/submit') ? submit() : outcome?.()) }
}

test('a submission is sent once, even if it is requested and shown repeatedly', async () => {
  const { Submission } = model.submission
  let sent = 0
  let release = (): void => {}
  const daemon = daemonWith({
    submit: async () => {
      sent++
      await new Promise<void>((resolve) => {
        release = resolve
      })
      return submitted('sent')
    },
    outcome: async () => ({ state: 'confirmed', round: 12, explanation: '' }),
  })
  const signed = signedOnce()
  const submission = Submission.of(daemon, signed)
  const [first, second] = [submission.submit(), Submission.of(daemon, signed).submit()]
  assert.equal(submission.state.status, 'sending')
  release()
  await Promise.all([first, second])
  await submission.submit()
  assert.deepEqual([sent, submission.state.status, submission.transactionId], [1, 'waiting', Transaction.id(txn)])
  await submission.check()
  assert.deepEqual(submission.state, { status: 'confirmed', round: 12 })
  await submission.submit()
  assert.equal(sent, 1)
})

test('a submission with an unknown outcome is looked up, and one that was certainly not sent says so', async () => {
  const { Submission } = model.submission
  const outcomes = [
    { state: 'unknown', round: 0, explanation: '' },
    { state: 'dropped', round: 0, explanation: 'no funds' },
    { state: 'expired', round: 0, explanation: '' },
  ]
  const failing = daemonWith({
    submit: async () => {
      throw new Error('the connection broke')
    },
    outcome: async () => outcomes.shift(),
  })
  const open = new Submission(failing, signedOnce())
  await open.submit()
  assert.deepEqual([open.state.status, open.state['isKnown']], ['waiting', false])
  await open.check()
  assert.deepEqual([open.state.status, open.state['isKnown']], ['waiting', false])
  await open.check()
  assert.deepEqual(open.state, { status: 'waiting', isKnown: false, note: 'no funds' })
  await open.check()
  assert.equal(open.state.status, 'expired')
  for (const [state, status] of [
    ['refused', 'refused'],
    ['not_sent', 'not-sent'],
    ['unknown', 'waiting'],
    ['confirmed', 'confirmed'],
    ['what a later daemon says', 'waiting'],
  ] as const) {
    const submission = new Submission(daemonWith({ submit: async () => submitted(state) }), signedOnce())
    await submission.submit()
    assert.equal(submission.state.status, status)
  }
})
