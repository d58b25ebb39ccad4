/** Programs whose address is a point of the curve of Ed25519. Texts and verdicts are those of algod 5.1. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ed25519, Program, Submission } from '@latchkey/algorand'
import * as PostQuantum from '@latchkey/algorand/post-quantum'
import { errorMessageOf, sign, TestNode } from '../testing/TestNode.test.helper.js'
import * as MapKey from './MapKey.js'

/** An accepting program of a version whose address is a point of the curve, or not. */
function programOf(version: number, isCurvePoint: boolean): Uint8Array {
  for (let number = 0; number < 128; number++) {
    // pushint 1; pushint NUMBER; pop
    const program = Uint8Array.of(version, 0x81, 1, 0x81, number, 0x48)
    if (PostQuantum.isCurvePoint(Program.address(program)) === isCurvePoint) return program
  }
  throw new Error('no such program')
}

async function setUp(program: Uint8Array) {
  const node = new TestNode()
  const account = Program.address(program)
  node.ledger.fund({ type: 'fund', to: MapKey.of(account), microAlgos: 1_000_000n, assets: [] })
  return { node, account, alice: node.funded(0) }
}

const query = '?skip-pq-address-check=true'
const refusal = (index: number, version: number) =>
  `transaction ${index}: TEAL v${version} LogicSig program hash is an Edwards25519 point and should not be used; set skip-pq-address-check=true to submit anyway if you understand the risks and know what you are doing`

test('a program of version 13 whose address is a point of the curve sends nothing unless the client waives the check', async () => {
  const l = programOf(13, true)
  const { node, account } = await setUp(l)
  const bytes = Submission.encode({ txn: node.txn('pay', account), lsig: { l } })
  const response = await node.submit(bytes)
  assert.deepEqual([response.status, errorMessageOf(response)], [400, refusal(0, 13)])
  const [simulated] = (await node.simulate([bytes])).json['txn-groups']
  assert.equal(simulated['failure-message'], undefined)
  assert.equal((await node.post(`/v2/transactions${query}`, bytes)).status, 200)
})

test('the check comes before all others, names the transaction, and sees newer programs', async () => {
  const l = programOf(14, true)
  const { node, account, alice } = await setUp(l)
  // Neither has a group id.
  const [first, second] = [node.pay(alice, alice, 1n), node.txn('pay', account)]
  const group = [sign(first, alice), Submission.encode({ txn: second, lsig: { l } })]
  assert.equal(errorMessageOf(await node.submit(...group)), refusal(1, 14))
})

test('the signer of a rekeyed account is checked', async () => {
  const l = programOf(13, true)
  const { node, account, alice } = await setUp(l)
  const bytes = Submission.encode({ txn: node.pay(alice, alice, 1n), sgnr: account, lsig: { l } })
  assert.equal(errorMessageOf(await node.submit(bytes)), refusal(0, 13))
})

test('older programs, other addresses and delegated programs are not checked', async () => {
  for (const l of [programOf(12, true), programOf(13, false)]) {
    const { node, account } = await setUp(l)
    await node.send(Submission.encode({ txn: node.txn('pay', account), lsig: { l } }))
  }
  const l = programOf(13, true)
  const { node, alice } = await setUp(l)
  const delegated = Submission.encode({
    txn: node.pay(alice, alice, 1n),
    lsig: { l, sig: Ed25519.sign(Program.bytesToSign(l), alice.secretKey) },
  })
  await node.send(delegated)
  const foreign = Submission.encode({ txn: node.pay(alice, alice, 1n), lsig: { l } })
  assert.match(errorMessageOf(await node.submit(foreign)), /LogicNot signed and not a Logic-only account$/)
})
