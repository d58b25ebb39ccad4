/** A node that denies a payment in the ledger is not believed alone if the operator requires two. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Chain, Facilitator, Signer } from '@latchkey/x402/facilitator'
import { NodeProxy, openMarket, possessions, price, sponsored, usdc } from './support/facilitator.test.helper.js'

const timeout = 60_000
const away = { status: 502, body: 'bad gateway', isForwarded: false }

/** The first node accepts the payment, and then reports it as long expired and in no block. The second node is down. */
async function open(t: TestContext, quorum: number) {
  const market = await openMarket(t)
  const [liar, honest] = [await NodeProxy.start(t, market.devnet.url), await NodeProxy.start(t, market.devnet.url)]
  const chain = await Chain.open({ network: 'local', nodes: [liar.url, honest.url], dollarAssetId: usdc, quorum })
  const params = await chain.parameters()
  const round = Number(params.lastRound) + 5_000
  const genesis = { 'genesis-hash': Buffer.from(params.genesisHash).toString('base64'), 'genesis-id': params.genesisId }
  const lies: { [what: string]: object } = {
    status: { 'last-round': round },
    params: { ...genesis, 'last-round': round, 'min-fee': 1000, fee: 0 },
    txids: { blockTxids: [] },
  }
  let isHonestAway = true
  honest.instead = () => (isHonestAway ? away : undefined)
  liar.instead = (what) => {
    if (what === 'submit') return { ...away, isForwarded: true }
    if (liar.count('submit') === 0) return undefined
    if (what === 'pending') return { status: 404, body: '{"message":"not found"}', isForwarded: false }
    const lie = lies[what]
    return lie && { status: 200, body: JSON.stringify(lie), isForwarded: false }
  }
  const feePayer = Signer.fromSeed(market.sponsor.seed)
  const facilitator = new Facilitator({ chains: [chain], feePayer, pollMs: 10, settleTimeoutMs: 2_000 })
  t.after(() => facilitator.stop())
  const { payload, requirements } = sponsored(market)
  const settle = async (): Promise<string | undefined> => {
    const { success, errorReason } = await facilitator.settle(payload, requirements)
    return success ? 'settled' : errorReason
  }
  const comeBack = (): void => {
    isHonestAway = false
  }
  return { market, settle, comeBack }
}

test('Q a payment that one node denies stays pending, and is settled when the second is back', {
  timeout,
}, async (t) => {
  const { market, settle, comeBack } = await open(t, 2)
  assert.equal(await settle(), 'settlement_pending')
  assert.equal((await possessions(market)).seller, price, 'although it is in the ledger')
  comeBack()
  let state = await settle()
  while (state === 'settlement_pending') {
    await sleep(20)
    state = await settle()
  }
  assert.equal(state, 'settled')
})

test('Q without a quorum, the one node that responds is believed', { timeout }, async (t) => {
  const { settle } = await open(t, 1)
  let state = await settle()
  while (state === 'settlement_pending') {
    await sleep(20)
    state = await settle()
  }
  assert.equal(state, 'invalid_exact_avm_settlement_failed')
})
