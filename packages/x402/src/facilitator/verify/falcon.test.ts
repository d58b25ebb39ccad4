/** Payments of 0.1 Algos from Falcon accounts: one of algosdk's signer, and one whose address is a point of the curve. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Address, Submission } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequirements } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { checkSponsoredFee, verifyPayment } from './verifyPayment.js'

const file = new URL('../../../src/testdata/falcon.json', import.meta.url)
const recorded = JSON.parse(readFileSync(file, 'utf8')) as { readonly signed: string; readonly curvePoint: string }
const network = 'algorand:falcon'

function verify(bytes: Uint8Array) {
  const { txn } = Submission.decodeFirst(bytes).signed
  const chain = {
    caip2: network,
    genesisHash: txn.gh!,
    matches: () => true,
    parameters: () => Promise.resolve({ minFee: 1_000n, feePerByte: 0n }),
  } as unknown as Chain
  const requirements = {
    scheme: 'exact',
    network,
    asset: '0',
    amount: String(txn.amt),
    payTo: Address.encode(txn.rcv!),
  }
  const paymentGroup = [Buffer.from(bytes).toString('base64')]
  const payload = { x402Version: 2, accepted: requirements, payload: { paymentGroup, paymentIndex: 0 } }
  return verifyPayment(payload as unknown as PaymentPayload, requirements as unknown as PaymentRequirements, {
    chains: [chain],
    feePayers: new Set(),
    maxFeeMicroAlgosPerTransaction: 5_000n,
    maxValidityRounds: 1_000n,
  })
}

test('a Falcon account pays, and its fee is three times the minimum', async () => {
  const payment = verify(Buffer.from(recorded.signed, 'base64'))
  assert.equal(payment.amount, 100_000n)
  await checkSponsoredFee({ ...payment, feeMicroAlgos: 3_000n })
  await assert.rejects(checkSponsoredFee({ ...payment, feeMicroAlgos: 3_001n }), {
    code: 'invalid_exact_avm_fee_too_high',
  })
})

test('a Falcon signature of another message, key or salt is refused, and an address on the curve', () => {
  const bytes = Buffer.from(recorded.signed, 'base64')
  const { signed } = Submission.decodeFirst(bytes)
  const pqsig = signed.pqsig!
  const sig = pqsig.sig!.map((byte, index) => (index === 100 ? byte ^ 1 : byte))
  const changed = [{ sig }, { sig: undefined }, { slt: 77 }, { sch: Buffer.from('f2') }]
  const all = changed.map((change) => Submission.encode({ ...signed, pqsig: { ...pqsig, ...change } }))
  for (const one of [...all, Buffer.from(recorded.curvePoint, 'base64')]) {
    assert.throws(() => verify(one), { code: 'invalid_exact_avm_invalid_signature' })
  }
})
