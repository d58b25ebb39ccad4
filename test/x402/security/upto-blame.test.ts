/** A payer is refused only if the ledger proves that it has withdrawn its authorization. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AlgodError } from '@latchkey/algod'
import { Address } from '@latchkey/algorand'
import { decodePayment, Signer } from '@latchkey/x402/client'
import { paymentErrors } from '@latchkey/x402/facilitator'
import { type ClaimStore, MemoryClaims } from '@latchkey/x402/server'
import { UptoPayment } from '@latchkey/x402-wire'
import { authorizationFor } from '../support/authorizations.test.helper.js'
import { killed, later, through, usageStores } from '../support/killedStream.test.helper.js'
import { altered, dollar, headerJson, newAddress, openMarket, repeated, until } from '../support/market.test.helper.js'
import { charging, type Handler, openShop } from '../support/uptoShop.test.helper.js'

const timeout = 120_000
const market = await openMarket({ after })
const stores = usageStores('upto-blame-')

const isUnpaid = async (claims: ClaimStore, payer: string): Promise<boolean> =>
  claims.usage!.isUnpaid(payer, Date.now())
const lastSale = async (claims: ClaimStore) => (await claims.sales!.list({ limit: 1 })).sales[0]!

function newAccount(microDollars: bigint): Signer.Signer {
  const account = Signer.fromSeed(randomBytes(32))
  market.devnet.fund(account.address, { microAlgos: 1_000_000n, microDollars })
  return account
}

/** Sends a transaction of an account: all its dollars to another one, or nothing, with a lease. */
async function send(signer: Signer.Signer, { lease }: { lease?: Uint8Array } = {}): Promise<void> {
  const { lastRound, genesisHash } = await market.chain.algod.parameters()
  const snd = Address.decode(signer.address)
  const rounds = { fv: lastRound, lv: lastRound + 900n, gh: genesisHash, fee: 1_000n }
  const amount = await market.dollars(signer.address)
  const receiver = newAddress()
  market.devnet.fund(receiver, { microAlgos: 1_000_000n, microDollars: 1n })
  const spending = {
    type: 'axfer',
    snd,
    arcv: Address.decode(receiver),
    xaid: dollar,
    aamt: amount,
    ...rounds,
  } as const
  const using = { type: 'pay', snd, rcv: snd, lx: lease, ...rounds } as const
  const signed = await Signer.signTransaction(signer, lease === undefined ? spending : using)
  assert.equal((await market.chain.algod.submit([signed])).type, 'accepted')
}

for (const [name, openStore] of Object.entries(stores)) {
  test(`${name}: a gate that was paused while another one charged for its stream does not blame the payer`, {
    timeout,
  }, async (t) => {
    const claims = openStore(t)
    let resume = (): void => {}
    let paused: Promise<void> | undefined
    const pausable = through(claims, async (_, work) => {
      await paused
      return work()
    })
    let goOn = (): void => {}
    const handler: Handler = async (_, response, payment) => {
      payment.charge!('$0.1')
      response.write('the first part')
      await new Promise<void>((resolve) => {
        goOn = resolve
      })
      payment.charge!('$0.3')
      response.end('the rest')
    }
    const shop = await openShop(market, t, handler, { claims: pausable, price: { stream: true } })
    const account = newAccount(5_000_000n)
    const header = await authorizationFor(market, await fetch(shop.url), { rounds: 900n, signer: account })
    const response = await repeated(shop.url, header)
    const reader = response.body!.getReader()
    await reader.read()
    const { transactionId } = await lastSale(claims)
    await until(async () => (await claims.usage!.chargeOf(transactionId)) === 100_000n)
    paused = new Promise((resolve) => {
      resume = resolve
    })
    const accepts = { price: { upTo: '$0.50', stream: true }, payTo: shop.seller }
    await openShop(market, t, handler, { claims: later(claims, 100_000), routes: { '/model': { accepts } } })
    await until(async () => (await shop.received()) === 100_000n)
    await until(async () => (await claims.usage!.chargeOf(transactionId)) === undefined)
    resume()
    paused = undefined
    goOn()
    await (async () => {
      while (!(await reader.read()).done);
    })().catch(() => {})
    await sleep(1_500)
    assert.equal(await isUnpaid(claims, account.address), false)
    assert.equal(await claims.usage!.chargeOf(transactionId), undefined, 'the work that has ended does not come back')
    assert.equal(await shop.received(), 100_000n)
    await until(async () => (await lastSale(claims)).outcome === 'settled')
    assert.equal((await lastSale(claims)).amount, '100000')
  })

  test(`${name}: a payer is not refused if its seller could not settle in time`, { timeout }, async (t) => {
    const claims = openStore(t)
    const { received, replica, transactionId } = await killed(market, t, claims, 2)
    const settle = async (): Promise<never> => {
      throw new Error('the facilitator is down')
    }
    const down = altered(market.local, { settle })
    await replica({ claims: later(claims, 100_000), facilitators: down })
    await sleep(200)
    assert.equal(await claims.usage!.chargeOf(transactionId), 100_000n, 'the settlement is not decided')
    for (let blocks = 0; blocks < 1_000; blocks++) market.devnet.mine()
    await sleep(1_100)
    await replica({ claims: later(claims, 200_000), facilitators: down })
    await until(async () => (await claims.usage!.chargeOf(transactionId)) === undefined)
    await until(async () => (await lastSale(claims)).outcome === 'cancelled')
    assert.equal(await isUnpaid(claims, market.devnet.accounts[2]!.address), false)
    assert.equal(await received(), 0n)
  })

  test(`${name}: a payer is refused if the ledger rejected its charge until the authorization expired`, {
    timeout,
  }, async (t) => {
    const claims = openStore(t)
    const { replica } = await killed(market, t, claims, 3)
    const errorReason = 'invalid_upto_avm_simulation_failed'
    let asked = 0
    const settle: typeof market.local.settle = async (_, { network }) => {
      asked++
      return { success: false, errorReason, transaction: '', network }
    }
    const rejecting = altered(market.local, { settle })
    const payer = market.devnet.accounts[3]!.address
    await replica({ claims: later(claims, 100_000), facilitators: rejecting })
    await until(() => asked === 1)
    await sleep(200)
    assert.equal(await isUnpaid(claims, payer), false, 'the payer has the money')
    for (let blocks = 0; blocks < 1_000; blocks++) market.devnet.mine()
    await sleep(1_100)
    await replica({ claims: later(claims, 200_000), facilitators: rejecting })
    await until(() => isUnpaid(claims, payer))
  })
}

/** The codes of facilitators, ours and others. */
const codes = [...Object.keys(paymentErrors), 'payment_already_used', 'insufficient_funds', 'invalid_scheme']

test('no code of a facilitator is a reason to refuse a payer that can be charged', { timeout }, async (t) => {
  const account = newAccount(500_000_000n)
  let code = ''
  const settle: typeof market.local.settle = async (payload, requirements, options) =>
    code === ''
      ? market.local.settle(payload, requirements, options)
      : { success: false, errorReason: code, transaction: '', network: requirements.network }
  for (const stream of [false, true]) {
    const claims = new MemoryClaims()
    const facilitators = altered(market.local, { settle })
    const { url } = await openShop(market, t, charging('$0.1'), { claims, facilitators, price: { stream } })
    for (const one of codes.filter((each) => !/^(facilitator_|unexpected|settlement_pending)/.test(each))) {
      const header = await authorizationFor(market, await fetch(url), { rounds: 900n, signer: account })
      code = one
      await (await repeated(url, header)).text().catch(() => {})
      code = ''
      await sleep(20)
      assert.equal(await isUnpaid(claims, account.address), false, `${one}, stream: ${stream}`)
    }
  }
})

const withdrawals: { readonly [what: string]: (signer: Signer.Signer, header: string) => Promise<void> } = {
  'spent its money': (signer) => send(signer),
  'used the lease': (signer, header) => {
    const { payload } = decodePayment(header)
    return send(signer, { lease: UptoPayment.read(payload.payload ?? payload).terms.lease })
  },
}

for (const [what, withdraw] of Object.entries(withdrawals)) {
  for (const stream of [false, true]) {
    test(`a payer that ${what} is refused, stream: ${stream}`, { timeout }, async (t) => {
      const claims = new MemoryClaims()
      let goOn = (): void => {}
      let onRun = (): void => {}
      const running = new Promise<void>((resolve) => {
        onRun = resolve
      })
      const handler: Handler = async (_, response, payment) => {
        payment.charge!('$0.1')
        onRun()
        await new Promise<void>((resolve) => {
          goOn = resolve
        })
        response.end('done')
      }
      const { url, received } = await openShop(market, t, handler, { claims, price: { stream } })
      const account = newAccount(500_000n)
      const header = await authorizationFor(market, await fetch(url), { rounds: 900n, signer: account })
      const response = repeated(url, header)
      await running
      await withdraw(account, header)
      await sleep(100)
      goOn()
      await (await response).text().catch(() => {})
      await until(() => isUnpaid(claims, account.address))
      assert.equal(await received(), 0n)
      market.devnet.fund(account.address, { microDollars: 5_000_000n })
      const again = await repeated(url, header)
      assert.equal(again.status, 402, 'a final error')
      assert.equal(headerJson(again, 'payment-required')['error'], 'payer_left_unpaid')
    })
  }
}

test('work that cannot be looked up is given back, and settled before the lease of its gate ends', {
  timeout,
}, async (t) => {
  const claims = new MemoryClaims()
  const { received, replica } = await killed(market, t, claims, 1)
  let isDown = false
  let asked = 0
  const settle: typeof market.local.settle = async (_, { network }) => {
    asked++
    isDown = true
    return { success: false, errorReason: 'insufficient_funds', transaction: '', network }
  }
  const chain = through(market.chain, (_, work) => {
    if (isDown) throw new AlgodError('unreachable', 'no node responds')
    return work()
  })
  const facilitators = altered(market.local, { settle })
  await replica({ claims: later(claims, 100_000), facilitators, chains: chain as typeof market.chain })
  await until(() => asked === 1)
  await sleep(200)
  await replica({ claims: later(claims, 112_000) })
  await until(async () => (await received()) === 100_000n)
})

test('a gate whose routes have fixed prices charges for the streams of an earlier deployment', {
  timeout,
}, async (t) => {
  const claims = new MemoryClaims()
  const { received, replica, seller } = await killed(market, t, claims, 0)
  const routes = { '/other': { accepts: { price: '$0.01', payTo: seller } } }
  await replica({ claims: later(claims, 100_000), routes })
  await until(async () => (await received()) === 100_000n)
})
