/**
 * Falcon signatures of algosdk's signer and the library `falcon-signatures` 1.4.0: a payment of 0.1 Algos, the same one
 * without its signature, and one by a program to which the account is delegated. Two more payments are from another key:
 * with a salt that is not the lowest one, and with an address that is a point of the curve. Their texts, and the verdicts
 * of simulations, are those of algod 5.1.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Group, Submission } from '@latchkey/algorand'
import { errorMessageOf, TestNode } from '../testing/TestNode.test.helper.js'
import * as Genesis from './Genesis.js'
import * as MapKey from './MapKey.js'

const file = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src', 'testdata', 'falcon.json')
type Payment = { readonly address: string; readonly signed: string }
type Recorded = Payment & {
  readonly higherSalt: Payment
  readonly curvePoint: Payment
  readonly empty: string
  readonly delegated: string
}
const recorded = JSON.parse(readFileSync(file, 'utf8')) as Recorded
const [signed, empty, delegated] = [recorded.signed, recorded.empty, recorded.delegated].map((text) =>
  Buffer.from(text, 'base64'),
) as [Buffer, Buffer, Buffer]

function setUp() {
  const genesisHash = Buffer.alloc(32, 7).toString('base64')
  const node = new TestNode({ genesis: () => Genesis.make({ accountCount: 3, genesisHash, genesisId: 'falcon-v1' }) })
  const to = MapKey.fromAddress(recorded.address)
  node.ledger.fund({ type: 'fund', to, microAlgos: 1_000_000n, assets: [] })
  return { node, balance: () => node.ledger.state.account(to).microAlgos }
}

/** The same transaction with another signature. */
function changed(bytes: Uint8Array, change: (pqsig: Submission.PostQuantumSignature) => object): Uint8Array {
  const submitted = Submission.decodeFirst(bytes).signed
  return Submission.encode({ ...submitted, pqsig: { ...submitted.pqsig, ...change(submitted.pqsig!) } })
}

test('an account with a Falcon key pays, and delegates itself to a program', async () => {
  const { node, balance } = setUp()
  await node.send(signed)
  assert.equal(balance(), 1_000_000n - 103_000n)
  await node.send(delegated)
  assert.equal(balance(), 1_000_000n - 206_001n)
  assert.deepEqual(node.errors, [])
})

test('an account of any salt pays', async () => {
  const { node } = setUp()
  const { address, signed } = recorded.higherSalt
  node.ledger.fund({ type: 'fund', to: MapKey.fromAddress(address), microAlgos: 1_000_000n, assets: [] })
  await node.send(Buffer.from(signed, 'base64'))
})

test('an account whose address is a point of the curve pays if the client waives the check', async () => {
  const { node } = setUp()
  const { address, signed } = recorded.curvePoint
  node.ledger.fund({ type: 'fund', to: MapKey.fromAddress(address), microAlgos: 1_000_000n, assets: [] })
  const bytes = Buffer.from(signed, 'base64')
  const refusal = `transaction 0: pq signature authorizer address ${address} is an Edwards25519 curve point (non PQ-compliant)`
  for (const query of ['', '?skip-pq-address-check=false']) {
    const response = await node.post(`/v2/transactions${query}`, bytes)
    assert.deepEqual([response.status, errorMessageOf(response)], [400, refusal])
  }
  const waived = await node.post('/v2/transactions?skip-pq-address-check=true', bytes)
  assert.equal(waived.status, 200, waived.text)
  const simulated = await node.simulate([bytes])
  assert.match(simulated.json['txn-groups'][0]['failure-message'], /already in ledger/)
})

test('damaged Falcon signatures are refused', async () => {
  const { node, balance } = setUp()
  const flipped = (bytes: Uint8Array | undefined, index: number) =>
    bytes!.map((byte, at) => (at === index ? byte ^ 1 : byte))
  const validation = 'pq signature validation failed: '
  const falcon = `${validation}invalid falcon-1024 signature: `
  const mismatch =
    /^pq signature validation failed: pq signature authorizer mismatch: derived [A-Z2-7]{58}, expected AG7J/
  const cases: [Uint8Array, string | RegExp][] = [
    [changed(signed, ({ sig }) => ({ sig: flipped(sig, 100) })), `${falcon}error code -4: falcon verify failed`],
    [changed(signed, ({ sig }) => ({ sig: flipped(sig, 0) })), `${falcon}error code -4: falcon verify failed`],
    [changed(signed, ({ sig }) => ({ sig: sig!.subarray(0, 900) })), `${falcon}error code -3: falcon verify failed`],
    [changed(signed, ({ pk }) => ({ pk: flipped(pk, 100) })), mismatch],
    [changed(signed, ({ slt }) => ({ slt: (slt ?? 0) + 1 })), mismatch],
    [changed(signed, ({ pk }) => ({ pk: pk!.subarray(1) })), mismatch],
    [changed(signed, () => ({ sch: Buffer.from('f2') })), `${validation}pq signature scheme not supported`],
    [empty, `${validation}pq signature is empty`],
  ]
  for (const [bytes, reason] of cases) {
    const response = await node.post('/v2/transactions?skip-pq-address-check=true', bytes)
    const message = errorMessageOf(response).replace(/^transaction \{.*\} invalid : /, '')
    if (typeof reason === 'string') assert.equal(message, reason)
    else assert.match(message, reason)
  }
  assert.equal(balance(), 1_000_000n)
})

test('a damaged delegation is refused', async () => {
  const { node } = setUp()
  const submitted = Submission.decodeFirst(delegated).signed
  const lsig = submitted.lsig!
  const refusal = async (changed: Partial<typeof lsig>) => {
    const bytes = Submission.encode({ ...submitted, lsig: { ...lsig, ...changed } })
    const response = await node.post('/v2/transactions?skip-pq-address-check=true', bytes)
    return errorMessageOf(response).replace(/^transaction \{.*\} invalid : /, '')
  }
  const pqsig = lsig.pqsig!
  const validation = 'pq delegated logic signature validation failed: '
  assert.equal(await refusal({ pqsig: { ...pqsig, sig: undefined } }), `${validation}pq signature is empty`)
  assert.equal(
    await refusal({ pqsig: { ...pqsig, sch: Buffer.from('f9') } }),
    `${validation}pq signature scheme not supported`,
  )
  assert.equal(
    await refusal({ sig: new Uint8Array(64).fill(1) }),
    'LogicSig should have only one type of delegation signature',
  )
})

/** A placeholder, the options, and the verdict of a node, with the usage in minimum fees. */
type Placeholder = [Partial<Submission.PostQuantumSignature>, 'empty' | 'fixed', string | undefined, number]

test('simulations take a Falcon signature without its bytes', async () => {
  const { node } = setUp()
  const { pqsig, txn } = Submission.decodeFirst(empty).signed
  const { slt, pk } = pqsig!
  const f1 = Buffer.from('f1')
  const mismatch = 'pq signature authorizer mismatch'
  const unsupported = 'pq signature scheme not supported'
  const cases: Placeholder[] = [
    [{ sch: f1, slt, pk }, 'empty', undefined, 3],
    [{ sch: f1, slt, pk }, 'fixed', undefined, 3],
    [{ sch: f1 }, 'empty', undefined, 3],
    [{ sch: f1 }, 'fixed', undefined, 3],
    [{ sch: f1, slt: 77 }, 'empty', undefined, 3],
    [{ sch: f1, slt: 77, pk }, 'empty', mismatch, 3],
    [{ sch: f1, slt: 77, pk }, 'fixed', mismatch, 3],
    [{ sch: Buffer.from('f2'), slt, pk }, 'empty', unsupported, 2],
    [{ sch: Buffer.from('f9') }, 'fixed', unsupported, 1],
    [{ slt: 5, pk }, 'fixed', unsupported, 1],
  ]
  const program = Uint8Array.of(10, 0x81, 1)
  for (const [placeholder, mode, reason, usage] of cases) {
    const options = { 'allow-empty-signatures': true, ...(mode === 'fixed' && { 'fix-signers': true }) }
    for (const isDelegated of [false, true]) {
      const signature = placeholder as Submission.PostQuantumSignature
      const signed = isDelegated ? { txn, lsig: { l: program, pqsig: signature } } : { txn, pqsig: signature }
      const [group] = (await node.simulate([Submission.encode(signed)], options)).json['txn-groups']
      const label = `${JSON.stringify(placeholder)} ${mode} ${isDelegated}`
      assert.equal(group['group-usage'], usage * 1_000_000, label)
      const failure = group['failure-message'] as string | undefined
      const kind = isDelegated ? 'pq delegated logic signature' : 'pq signature'
      if (reason === undefined) assert.equal(failure, undefined, label)
      else assert.ok(failure?.includes(`${kind} validation failed: ${reason}`), `${label}: ${failure}`)
    }
  }
})

test('a simulation that fixes signers takes the key of the account that may sign', async () => {
  const { node } = setUp()
  const alice = node.funded(0)
  const { pqsig } = Submission.decodeFirst(empty).signed
  const options = { 'allow-empty-signatures': true, 'fix-signers': true }
  const rekey = node.pay(alice, alice, 1n, { fee: 1000n, rekey: MapKey.bytes(MapKey.fromAddress(recorded.address)) })
  const [first, second] = Group.assign([rekey, node.pay(alice, alice, 2n, { fee: 3000n })])
  const group = [Submission.encode({ txn: first! }), Submission.encode({ txn: second!, pqsig: pqsig! })]
  const [fixed] = (await node.simulate(group, options)).json['txn-groups']
  assert.deepEqual([fixed['failure-message'], fixed['txn-results'][1]['fixed-signer']], [undefined, recorded.address])
  const own = Submission.encode({ txn: node.pay(alice, alice, 3n, { fee: 3000n }), pqsig: pqsig! })
  const [other] = (await node.simulate([own], options)).json['txn-groups']
  const reason = `pq signature validation failed: pq signature authorizer mismatch: derived ${recorded.address}, expected ${alice.address}`
  assert.deepEqual([other['failure-message'], other['failed-at']], [reason, [0]])
})

test('a Falcon signature has twice the usage of a transaction in addition, also in simulations without it', async () => {
  const { node } = setUp()
  const simulated = await node.simulate([empty], { 'allow-empty-signatures': true })
  const [group] = simulated.json['txn-groups']
  assert.deepEqual([group['failure-message'], group['group-usage']], [undefined, 3_000_000])
  assert.match((await node.simulate([empty])).json['txn-groups'][0]['failure-message'], /pq signature is empty/)
})
