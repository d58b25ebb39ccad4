/** An authorization belongs to the gate that had it verified, at every replica and every amount. */
import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { Facilitator, Signer } from '@latchkey/x402/facilitator'
import { PostgresSettlements } from '@latchkey/x402/postgres'
import { UptoPayment } from '@latchkey/x402-wire'
import { Client } from 'pg'
import { emptyDatabase, PostgresServer } from '../support/postgres.test.helper.js'
import {
  newAccount,
  openMarket,
  type PaymentPayload,
  type PaymentRequirements,
  requirementsOf,
  usdc,
} from '../x402/security/support/facilitator.test.helper.js'

const server = await PostgresServer.start({ after }, { settings: { max_connections: '60' } })
const address = await emptyDatabase(server)
const timeout = 120_000
const gate = { claimant: 'gate' }
let count = 0

async function open(t: TestContext) {
  const market = await openMarket(t)
  const schema = `upto_${++count}`
  const { chain, sponsor, buyer } = market
  const start = async (): Promise<Facilitator> => {
    const store = await PostgresSettlements.open({ address, environment: {}, schema, maxConnections: 4 })
    const facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromSeed(sponsor.seed), store, pollMs: 10 })
    t.after(() => facilitator.stop())
    return facilitator
  }
  const upto = requirementsOf(market, { scheme: 'upto', amount: '50000' })
  const authorize = async (seed = buyer.seed): Promise<PaymentPayload> => {
    const signer = Signer.fromSeed(seed)
    const unsigned = UptoPayment.buildAuthorization({
      payer: signer.address,
      payTo: upto.payTo,
      assetId: usdc,
      maxAmount: BigInt(upto.amount),
      facilitator: String(upto.extra['feePayer']),
      isPublicNetwork: false,
      maxTimeoutSeconds: 60,
      ...(await chain.parameters()),
    })
    const payload = await Signer.signAuthorization(signer, unsigned)
    return { x402Version: 2, accepted: upto, payload } as unknown as PaymentPayload
  }
  const admin = new Client({ connectionString: address })
  await admin.connect()
  t.after(() => admin.end())
  const received = async (): Promise<bigint> => (await chain.algod.holding(upto.payTo, usdc))!.amount
  return { ...market, schema, start, upto, authorize, admin, received }
}

/** A charge of each kind, by callers that are not the gate. */
async function attack(facilitators: readonly Facilitator[], payload: PaymentPayload, upto: PaymentRequirements) {
  for (const facilitator of facilitators) {
    for (const stranger of [{}, { claimant: 'stranger' }]) {
      for (const amount of ['0', '1', upto.amount]) {
        const { errorReason } = await facilitator.settle(payload, { ...upto, amount }, stranger)
        assert.equal(errorReason, 'payment_already_claimed', amount)
      }
      const { invalidReason } = await facilitator.verify(payload, upto, stranger)
      assert.equal(invalidReason, 'payment_already_claimed')
    }
  }
}

test('only its claimant settles an authorization, at any replica, after the hold and a restart', {
  timeout,
}, async (t) => {
  const { start, upto, authorize, admin, schema, received } = await open(t)
  const [first, second] = [await start(), await start()]
  const payload = await authorize()
  assert.equal((await first.verify(payload, upto, gate)).isValid, true)
  await attack([second, first], payload, upto)
  await first.stop()
  await admin.query(`UPDATE ${schema}.holds SET until = clock_timestamp()`)
  await attack([second, await start()], payload, upto)
  // As after a crash of the server.
  await admin.query(`TRUNCATE ${schema}.holds`)
  await attack([second], payload, upto)
  const settled = await second.settle(payload, { ...upto, amount: '40000' }, gate)
  assert.deepEqual([settled.success, settled.amount], [true, '40000'])
  assert.equal(await received(), 40_000n)
  const { rowCount } = await admin.query(`SELECT FROM ${schema}.claimants`)
  assert.equal(rowCount, 0, 'the record has the claimant')
})

test('a charge of 0 is recorded for a claimant alone, and never for an account that does not exist', {
  timeout,
}, async (t) => {
  const { start, upto, authorize, admin, schema } = await open(t)
  const [first, second] = [await start(), await start()]
  const zero = { ...upto, amount: '0' }
  const records = async () => (await admin.query(`SELECT claimant, amount FROM ${schema}.settlements`)).rows
  for (let time = 0; time < 6; time++) {
    const payload = await authorize(newAccount().seed)
    const { errorReason } = await first.settle(payload, zero, time % 2 === 0 ? gate : {})
    assert.equal(errorReason, 'invalid_upto_avm_simulation_failed')
  }
  const payload = await authorize()
  assert.equal((await first.settle(payload, zero)).success, true)
  for (const table of ['settlements', 'pending_settlements', 'settlement_rates', 'settlement_fees']) {
    assert.equal((await admin.query(`SELECT FROM ${schema}.${table}`)).rowCount, 0, table)
  }
  const ended = await authorize()
  assert.equal((await first.verify(ended, upto, gate)).isValid, true)
  assert.equal((await second.settle(ended, zero, gate)).success, true, 'at another replica')
  assert.deepEqual(await records(), [{ claimant: 'gate', amount: '0' }])
  assert.equal((await first.settle(ended, upto, gate)).amount, '0')
})
