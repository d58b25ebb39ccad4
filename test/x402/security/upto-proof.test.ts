/** What the ledger proves about a payer, whatever its facilitator says. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Address } from '@latchkey/algorand'
import { Signer } from '@latchkey/x402/client'
import { type FacilitatorClient, MemoryClaims } from '@latchkey/x402/server'
import { authorizationFor } from '../support/authorizations.test.helper.js'
import { altered, dollar, newAddress, openMarket, repeated, until } from '../support/market.test.helper.js'
import { charging, type Handler, openShop } from '../support/uptoShop.test.helper.js'

const timeout = 120_000
const market = await openMarket({ after })

function newAccount(microDollars: bigint): Signer.Signer {
  const account = Signer.fromSeed(randomBytes(32))
  market.devnet.fund(account.address, { microAlgos: 1_000_000n, microDollars })
  return account
}

/** Moves all dollars of an account. */
async function moveAll(from: Signer.Signer, to: string): Promise<void> {
  const { lastRound, genesisHash } = await market.chain.algod.parameters()
  const rounds = { fv: lastRound, lv: lastRound + 900n, gh: genesisHash, fee: 1_000n }
  const [snd, arcv] = [Address.decode(from.address), Address.decode(to)]
  const aamt = await market.dollars(from.address)
  const signed = await Signer.signTransaction(from, { type: 'axfer', snd, arcv, xaid: dollar, aamt, ...rounds })
  assert.equal((await market.chain.algod.submit([signed])).type, 'accepted')
}

function newReceiver(): string {
  const receiver = newAddress()
  market.devnet.fund(receiver, { microAlgos: 1_000_000n })
  market.devnet.optIn(receiver, dollar)
  return receiver
}

const isUnpaid = (claims: MemoryClaims, { address }: Signer.Signer): boolean =>
  claims.usage.isUnpaid(address, Date.now())

/** A handler that has used forty cents when it waits to be continued. */
function pausing() {
  let goOn = (): void => {}
  let onRun = (): void => {}
  const running = new Promise<void>((resolve) => {
    onRun = resolve
  })
  const handler: Handler = async (_, response, payment) => {
    payment.charge!('$0.4')
    onRun()
    await new Promise<void>((resolve) => {
      goOn = resolve
    })
    response.end('done')
  }
  return { handler, running, goOn: () => goOn() }
}

for (const stream of [false, true]) {
  test(`a payer that was charged is not refused if a facilitator denies it, stream: ${stream}`, {
    timeout,
  }, async (t) => {
    const claims = new MemoryClaims()
    const settle: FacilitatorClient['settle'] = async (...call) => {
      await market.local.settle(...call)
      return { success: false, errorReason: 'insufficient_funds', transaction: '', network: call[1].network }
    }
    const facilitators = altered(market.local, { settle })
    const { url, received } = await openShop(market, t, charging('$0.4'), { claims, facilitators, price: { stream } })
    const account = newAccount(500_000n)
    const header = await authorizationFor(market, await fetch(url), { rounds: 900n, signer: account })
    const response = await fetch(url, { headers: { 'PAYMENT-SIGNATURE': header } })
    await response.text()
    await until(async () => (await received()) === 400_000n)
    await until(() => claims.sales.list({ limit: 1 }).sales[0]!.outcome !== 'verified')
    assert.equal(isUnpaid(claims, account), false, 'it has less because it paid')
    assert.equal(claims.sales.list({ limit: 1 }).sales[0]!.outcome, 'pending', 'the ledger decides')
  })

  test(`a payer that withdrew is refused while its facilitator has not decided, stream: ${stream}`, {
    timeout,
  }, async (t) => {
    const claims = new MemoryClaims()
    let isAsked = false
    const settle: FacilitatorClient['settle'] = async (_, { network }) => {
      isAsked = true
      return { success: false, errorReason: 'settlement_pending', transaction: '', network }
    }
    const { handler, running, goOn } = pausing()
    const facilitators = altered(market.local, { settle })
    const { url } = await openShop(market, t, handler, { claims, facilitators, price: { stream } })
    const account = newAccount(500_000n)
    const header = await authorizationFor(market, await fetch(url), { rounds: 900n, signer: account })
    const response = fetch(url, { headers: { 'PAYMENT-SIGNATURE': header } }).then((one) => one.text())
    await running
    await moveAll(account, newReceiver())
    goOn()
    await response
    await until(() => isAsked)
    await sleep(400)
    assert.equal(isUnpaid(claims, account), true, 'at once, not when the authorization has expired')
  })

  test(`a payer that spends its money after its authorization has expired is not refused, stream: ${stream}`, {
    timeout,
  }, async (t) => {
    const claims = new MemoryClaims()
    let errorReason = 'settlement_pending'
    let asked = 0
    const settle: FacilitatorClient['settle'] = async (_, { network }) => {
      asked++
      return { success: false, errorReason, transaction: '', network }
    }
    const facilitators = altered(market.local, { settle })
    const { url } = await openShop(market, t, charging('$0.4'), { claims, facilitators, price: { stream } })
    const account = newAccount(500_000n)
    const header = await authorizationFor(market, await fetch(url), { rounds: 200n, signer: account })
    const headers = { 'PAYMENT-SIGNATURE': header }
    await (await fetch(url, { headers })).text()
    await until(() => asked > 0)
    market.devnet.mine(300)
    await sleep(1_100)
    await moveAll(account, newReceiver())
    errorReason = 'invalid_upto_avm_settlement_failed'
    const before = asked
    await (await repeated(url, header)).text()
    await until(() => asked > before)
    await sleep(500)
    assert.equal(isUnpaid(claims, account), false)
  })
}

test('a payer that moves its money away and back in the block of its charge is charged', { timeout }, async (t) => {
  const claims = new MemoryClaims()
  const { handler, running, goOn } = pausing()
  const { url, received } = await openShop(market, t, handler, { claims, price: { stream: true } })
  const [account, other] = [newAccount(500_000n), newAccount(0n)]
  market.devnet.optIn(other.address, dollar)
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n, signer: account })
  const response = repeated(url, header).then((one) => one.text())
  await running
  const { lastRound, genesisHash } = await market.chain.algod.parameters()
  const move = async (from: Signer.Signer, to: Signer.Signer): Promise<void> => {
    const [snd, arcv] = [Address.decode(from.address), Address.decode(to.address)]
    const rounds = { fv: lastRound, lv: lastRound + 900n, gh: genesisHash, fee: 1_000n }
    const txn = { type: 'axfer', snd, arcv, xaid: dollar, aamt: 500_000n, ...rounds } as const
    assert.equal((await market.chain.algod.submit([await Signer.signTransaction(from, txn)])).type, 'accepted')
  }
  market.devnet.addFault({ type: 'hold', ms: 600_000, count: 1 })
  await move(account, other)
  goOn()
  assert.equal(await response, 'done')
  await sleep(300)
  assert.equal(await received(), 0n, 'the node rejects the charge')
  await move(other, account)
  await until(async () => (await received()) === 400_000n)
  await until(() => claims.sales.list({ limit: 1 }).sales[0]!.outcome === 'settled')
  assert.equal(isUnpaid(claims, account), false)
})
