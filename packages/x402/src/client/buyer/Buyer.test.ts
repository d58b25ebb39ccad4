import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Network } from '@latchkey/algorand'
import { PaymentGroup, PaymentHeaders, type PaymentRequirements, PriceError } from '@latchkey/x402-wire'
import { Chain } from '../../chain/Chain.js'
import * as Signer from '../../signer/Signer.js'
import { PaymentLogError } from '../store/Payments.js'
import { Buyer } from './Buyer.js'
import { dollar, type Market, newAddress, newSigner, openMarket, requiring, url } from './market.test.helper.js'
import { Limits } from './Offer.js'
import * as PaidRequest from './PaidRequest.js'
import { PaymentRefusedError, type RefusalReason } from './PaymentRefusedError.js'

const timeout = 30_000

/** Signs the unsigned transactions, as a facilitator would, and submits the group. */
async function settle({ chain, sponsor }: Market, header: string): Promise<void> {
  const group = PaymentGroup.read(PaymentHeaders.decodePayment(header).payload)
  const members = group.members.map(async ({ bytes, isSigned, txn }) =>
    isSigned ? bytes : Signer.signTransaction(sponsor, txn),
  )
  assert.deepEqual(await chain.algod.submit(await Promise.all(members)), { type: 'accepted' })
}

const reasonsOf = (error: unknown): readonly RefusalReason[] => {
  assert.ok(error instanceof PaymentRefusedError, String(error))
  return error.reasons
}

const messageOf = (error: unknown): string => {
  assert.ok(error instanceof PaymentRefusedError, String(error))
  return error.message
}

test('a payment', async (t) => {
  await t.test('pays the amount, with fees paid by the fee payer of the offer', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { chain, signer, sponsor, payTo, required, requirement } = market
    const buyer = new Buyer({ signer, chains: chain })
    const { header, payment, payload } = await buyer.pay(required)
    const { members, payment: transfer, transactionId } = PaymentGroup.read(payload.payload)
    const [fee] = members
    assert.deepEqual([fee!.sender, fee!.isSigned, fee!.txn.fee], [sponsor.address, false, 2_000n])
    const { txn } = transfer
    assert.deepEqual([txn.aamt, txn.xaid, txn.fee, Address.encode(txn.arcv!)], [10_000n, dollar, undefined, payTo])
    assert.deepEqual([payment.transactionId, payment.state, payment.microDollars], [transactionId, 'open', '10000'])
    assert.deepEqual(PaymentHeaders.decodePayment(header).accepted, requirement)
    await settle(market, header)
    assert.equal(await buyer.lookUp(transactionId), 'settled')
    assert.equal(buyer.payments.get(transactionId)?.state, 'settled')
  })

  await t.test(
    'A15 treats one price with both network ids as one offer, and pays the first',
    { timeout },
    async (t) => {
      const { chain, signer, requirement } = await openMarket(t)
      const both = (one: PaymentRequirements) =>
        chain.ids.map((id) => ({ ...one, network: id as PaymentRequirements['network'] }))
      const buyer = new Buyer({ signer, chains: chain })
      const required = requiring(...both(requirement))
      const { offers, reasons } = await buyer.offers(required)
      assert.deepEqual([offers.map((offer) => offer.requirement), reasons], [[required.accepts[0]], []])
      const { payload, payment } = await buyer.pay(required)
      assert.deepEqual([payload.accepted.network, payment.network], [chain.ids[0], chain.caip2])
      // Up to 64 prices are read, and each is listed twice.
      const prices = Array.from({ length: 64 }, (_, index) =>
        both({ ...requirement, amount: String(index + 1) }),
      ).flat()
      const many = await buyer.offers(requiring(...prices))
      assert.deepEqual([many.offers.length, many.reasons], [64, []])
      const other = { ...requirement, extra: {} }
      assert.equal((await buyer.offers(requiring(requirement, other))).offers.length, 2, 'with and without a fee payer')
      const foreign = requiring(...['eip155:1', 'eip155:1'].map((id) => ({ ...requirement, network: id as never })))
      assert.equal((await buyer.offers(foreign)).reasons.length, 1)
    },
  )

  await t.test('echoes unknown extensions and members', { timeout }, async (t) => {
    const { chain, signer, required, requirement } = await openMarket(t)
    const odd = { ...requirement, outputSchema: { type: 'object' } } as PaymentRequirements
    const extensions = { bazaar: { info: { a: 1 } } }
    const { payload } = await new Buyer({ signer, chains: chain }).pay({ ...required, accepts: [odd], extensions })
    assert.deepEqual([payload.accepted, payload.extensions], [odd, extensions])
  })

  await t.test('is valid for as long as the seller may take, and little longer', { timeout }, async (t) => {
    const { devnet, signer, required, requirement } = await openMarket(t)
    const { caip2, genesisHash, usdcAssetId } = Network.testnet
    // The devnet disguised as TestNet, whose round time is known.
    const disguised = async (...[input, init]: Parameters<typeof fetch>): Promise<Response> => {
      const response = await fetch(input, init)
      return new Response((await response.text()).replace(devnet.genesisHash, genesisHash), { status: response.status })
    }
    const chain = await Chain.open({ network: 'testnet', nodes: devnet.url, fetch: disguised })
    devnet.fund(signer.address, { assets: [{ assetId: usdcAssetId!, amount: 50_000n }] })
    devnet.optIn(requirement.payTo, usdcAssetId!)
    for (const maxTimeoutSeconds of [1, 60, 300]) {
      const offer = {
        ...requirement,
        network: caip2,
        asset: `${usdcAssetId}`,
        maxTimeoutSeconds,
      } as PaymentRequirements
      const { payment } = await new Buyer({ signer, chains: chain }).pay({ ...required, accepts: [offer] })
      const seconds = 2.5 * Number(BigInt(payment.lastValid) - BigInt(payment.firstValid))
      assert.ok(seconds >= maxTimeoutSeconds && seconds < maxTimeoutSeconds + 30, `${seconds} seconds`)
    }
  })

  await t.test('is refused with a node of another network', { timeout }, async (t) => {
    const { devnet, signer, required, requirement } = await openMarket(t)
    const chain = await Chain.open({ network: 'testnet', nodes: devnet.url })
    const offer = { ...requirement, network: Network.testnet.caip2, asset: '10458941' } as PaymentRequirements
    const buyer = new Buyer({ signer, chains: chain })
    await assert.rejects(buyer.pay({ ...required, accepts: [offer] }), (error) =>
      /the node belongs to/.test(messageOf(error)),
    )
    assert.deepEqual(buyer.payments.all(), [])
  })

  await t.test('is refused above the fee limit, even if another account pays the fees', { timeout }, async (t) => {
    const { chain, signer, required, requirement } = await openMarket(t)
    const buyer = new Buyer({ signer, chains: chain, maxFeeMicroAlgos: 1_500n })
    await assert.rejects(buyer.pay(required), (error) => /2000 microAlgos in fees/.test(messageOf(error)))
    const own = requiring({ ...requirement, extra: {} })
    await assert.rejects(buyer.pay(own), (error) => /lacks 0.001 ALGO/.test(messageOf(error)))
  })

  await t.test('ignores the buyer itself as fee payer', { timeout }, async (t) => {
    const { devnet, chain, signer, requirement } = await openMarket(t)
    devnet.fund(signer.address, { microAlgos: 1_000_000n })
    const buyer = new Buyer({ signer, chains: chain })
    for (const feePayer of [signer.address, 'nonsense', 7, null]) {
      const { payload } = await buyer.pay(requiring({ ...requirement, extra: { feePayer } }))
      const { members } = PaymentGroup.read(payload.payload)
      assert.deepEqual([members.length, members[0]!.txn.fee], [1, 1_000n])
    }
  })

  await t.test('of a rekeyed account is signed by its authorizer', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { devnet, chain, signer, required } = market
    devnet.fund(signer.address, { microAlgos: 1_000_000n })
    const other = newSigner()
    const { genesisId: gen, genesisHash: gh, lastRound } = await chain.parameters()
    const rekey = { type: 'pay' as const, snd: Address.decode(signer.address), rcv: Address.decode(signer.address) }
    const txn = {
      ...rekey,
      fee: 1_000n,
      fv: lastRound + 1n,
      lv: lastRound + 9n,
      gen,
      gh,
      rekey: Address.decode(other.address),
    }
    const signed = await Signer.signTransaction(signer, txn)
    assert.deepEqual(await chain.algod.submit([signed]), { type: 'accepted' })
    const buyer = new Buyer({ signer: { ...other, sender: signer.address }, chains: chain })
    const { header, payment } = await buyer.pay(required)
    assert.equal(buyer.address, signer.address)
    await settle(market, header)
    assert.equal(await buyer.lookUp(payment.transactionId), 'settled')
  })
})

test('offers', async (t) => {
  const strange = (requirement: PaymentRequirements): PaymentRequirements[] =>
    [
      { scheme: 'escrow' },
      { network: 'eip155:84532' },
      { network: 'algorand:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' },
      { network: 'algorand:' },
      { asset: 'USDC' },
      { asset: '18446744073709551616' },
      { asset: '0' },
      { amount: '1e9' },
      { amount: '-1' },
      { amount: '0' },
      { amount: '010' },
      { amount: '99999999999999999999' },
      { payTo: 'nonsense' },
      { maxTimeoutSeconds: 1e9 },
      { extra: { paymentFlow: 'escrow' } },
    ].map((change) => ({ ...requirement, ...change }) as PaymentRequirements)

  await t.test('unsupported offers are skipped, and reported if there is no other', { timeout }, async (t) => {
    const { chain, signer, requirement } = await openMarket(t)
    const buyer = new Buyer({ signer, chains: chain, maxPerPayment: false })
    const { payload } = await buyer.pay(requiring(...strange(requirement), requirement))
    assert.deepEqual(payload.accepted, requirement)
    const { offers, reasons } = await buyer.offers(requiring(...strange(requirement)))
    assert.deepEqual([offers, reasons.length], [[], strange(requirement).length])
    await assert.rejects(buyer.pay(requiring(...strange(requirement))), (error) =>
      /"escrow".*more reasons$/.test(messageOf(error)),
    )
    assert.equal(buyer.payments.all().length, 1)
  })

  await t.test(
    'are ordered by network, dollar, price and payment flow',
    {
      timeout,
    },
    async (t) => {
      const { devnet, chain, signer, requirement } = await openMarket(t)
      const other = await Chain.open({ network: 'testnet', nodes: devnet.url, genesisHash: devnet.genesisHash })
      const onOther = { ...requirement, network: other.caip2, asset: '10458941', amount: '1' } as PaymentRequirements
      const upfront = { ...requirement, amount: '7', extra: { paymentFlow: 'upfront' } }
      const cheap = { ...requirement, amount: '7' }
      const algo = { ...requirement, asset: '0', amount: '1' }
      const listed = [onOther, algo, requirement, upfront, cheap]
      const assets = [{ asset: 0n, maxPerPayment: 10n }]
      const best = async (chains: Chain[]) => {
        const { offers } = await new Buyer({ signer, chains, assets }).offers(requiring(...listed))
        return offers.map((offer) => listed.indexOf(offer.requirement))
      }
      assert.deepEqual(await best([chain, other]), [4, 3, 2, 1, 0])
      assert.deepEqual(await best([other, chain]), [0, 4, 3, 2, 1])
    },
  )

  await t.test('pays the next offer if the best one cannot be paid', { timeout }, async (t) => {
    const { devnet, chain, signer, requirement } = await openMarket(t)
    const other = await Chain.open({ network: 'testnet', nodes: 'http://127.0.0.1:1', genesisHash: devnet.genesisHash })
    const unreachable = { ...requirement, network: other.caip2, asset: '10458941' } as PaymentRequirements
    const unpayable = { ...requirement, payTo: newAddress() }
    const dear = { ...requirement, amount: '2000000' }
    const buyer = new Buyer({ signer, chains: [other, chain], maxPerPayment: '$3' })
    const { payload } = await buyer.pay(requiring(unreachable, unpayable, dear))
    assert.deepEqual(payload.accepted, dear)
  })

  await t.test('does not query the node about assets that are not allowed', { timeout }, async (t) => {
    const { devnet, signer, requirement } = await openMarket(t)
    const requests: string[] = []
    const listen: typeof fetch = (input, init) => {
      requests.push(String(input))
      return fetch(input, init)
    }
    const chain = await Chain.open({ network: 'local', nodes: devnet.url, dollarAssetId: dollar, fetch: listen })
    const many = Array.from({ length: 5_000 }, (_, index) => ({ ...requirement, asset: String(index + 1) }))
    requests.length = 0
    const { offers, reasons } = await new Buyer({ signer, chains: chain }).offers(requiring(...many))
    assert.deepEqual([offers.length, requests.length, reasons.length], [0, 0, 65])
  })

  await t.test('keeps a seller’s control characters out of the message', { timeout }, async (t) => {
    const { chain, signer, requirement } = await openMarket(t)
    const rude = { ...requirement, scheme: `\u001b[2J\u009b${'x'.repeat(10_000)}` }
    const paid = new Buyer({ signer, chains: chain }).pay(requiring(rude))
    await assert.rejects(
      paid,
      (error) => !/[\x00-\x1f\x7f-\x9f]/.test(messageOf(error)) && messageOf(error).length < 200,
    )
  })
})

test('missing funds are reported before anything is signed', async (t) => {
  const cases: { [name: string]: (market: Market) => { signer: Signer.Signer; change: object; says: RegExp } } = {
    'the buyer is not opted in': () => {
      const signer = newSigner()
      return {
        signer,
        change: {},
        says: new RegExp(`${signer.address} holds no USDC: it is not opted in to asset ${dollar}`),
      }
    },
    'the buyer has too little': ({ devnet }) => {
      const signer = newSigner()
      devnet.fund(signer.address, { assets: [{ assetId: dollar, amount: 9_000n }] })
      return {
        signer,
        change: {},
        says: new RegExp(`${signer.address} has 0.009 USDC and needs 0.01; send it 0.001 USDC`),
      }
    },
    'the buyer has nothing for the fee': ({ signer }) => {
      return { signer, change: { extra: {} }, says: new RegExp(`${signer.address} lacks 0.001 ALGO`) }
    },
    'the seller is not opted in': ({ signer }) => {
      const payTo = newAddress()
      return { signer, change: { payTo }, says: new RegExp(`${payTo} cannot be paid in USDC.*opt in`) }
    },
  }
  for (const [name, make] of Object.entries(cases)) {
    await t.test(name, { timeout }, async (t) => {
      const market = await openMarket(t)
      const { signer, change, says } = make(market)
      const buyer = new Buyer({ signer, chains: market.chain })
      const paid = buyer.pay(requiring({ ...market.requirement, ...change }))
      await assert.rejects(paid, (error) => says.test(messageOf(error)))
      assert.deepEqual(buyer.payments.all(), [])
    })
  }
})

test('limits', async (t) => {
  await t.test('default to $1 for one payment', { timeout }, async (t) => {
    const { chain, signer, requirement } = await openMarket(t)
    const asking = (amount: string) => requiring({ ...requirement, amount })
    const buyer = new Buyer({ signer, chains: chain })
    await buyer.pay(asking('1000000'))
    await assert.rejects(buyer.pay(asking('1000001')), (error) =>
      /\$1.000001 is above the limit of \$1 /.test(messageOf(error)),
    )
    await assert.rejects(new Buyer({ signer, chains: chain, maxPerPayment: '$0.01' }).pay(asking('10001')))
    await new Buyer({ signer, chains: chain, maxPerPayment: false }).pay(asking('5000000'))
  })

  await t.test('must be in dollars', () => {
    for (const maxTotal of ['5 ALGO', '$0', 'much', -1]) assert.throws(() => new Limits({ maxTotal }), PriceError)
    assert.ok(new Limits({ maxPerPayment: '0.50 USDC', maxTotal: 5 }))
  })

  await t.test('the total limit holds for concurrent payments', { timeout }, async (t) => {
    const { chain, signer, required } = await openMarket(t)
    const buyer = new Buyer({ signer, chains: chain, maxTotal: '$0.05' })
    const paid = await Promise.allSettled(Array.from({ length: 12 }, () => buyer.pay(required)))
    assert.equal(paid.filter(({ status }) => status === 'fulfilled').length, 5)
    const [refused] = paid.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
    assert.match(messageOf(refused), /\$0.01 would make the total \$0.06, above the limit of \$0.05/)
    const { network, asset } = required.accepts[0]!
    const amounts = { asked: '10000', limit: '50000', left: '0', unit: 'micro_dollars' }
    const [reason] = reasonsOf(refused)
    assert.deepEqual(reason, { code: 'above_total_limit', message: reason!.message, network, asset, ...amounts })
    assert.equal(buyer.payments.spent().microDollars, 50_000n)
  })

  await t.test('expired payments stop counting, settled ones do not', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { devnet, chain, signer, required } = market
    const buyer = new Buyer({ signer, chains: chain, maxTotal: '$0.02' })
    const [first, second] = [await buyer.pay(required), await buyer.pay(required)]
    await settle(market, second.header)
    await assert.rejects(buyer.pay(required), PaymentRefusedError)
    devnet.mine(1_010)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    await buyer.pay(required)
    const states = [first, second].map(({ payment }) => buyer.payments.get(payment.transactionId)?.state)
    assert.deepEqual(states, ['expired', 'settled'])
    await assert.rejects(buyer.pay(required), PaymentRefusedError)
  })

  await t.test('expired payments stop counting beside older ones that nodes cannot find', { timeout }, async (t) => {
    const { devnet, chain, signer, required } = await openMarket(t, { historyBlocks: 2_000 })
    const buyer = new Buyer({ signer, chains: chain, maxTotal: '$0.20' })
    const mine = async (rounds: number): Promise<void> => {
      for (let mined = 0; mined < rounds; mined += 10) devnet.mine(10)
      await new Promise((resolve) => setTimeout(resolve, 1_100))
    }
    for (let count = 0; count < 19; count++) await buyer.pay(required)
    await mine(4_000)
    const { payment } = await buyer.pay(required)
    await mine(1_010)
    await buyer.pay(required)
    assert.equal(buyer.payments.get(payment.transactionId)?.state, 'expired')
    assert.equal(buyer.payments.spent().microDollars, 200_000n)
  })

  await t.test('other assets need their own limit', { timeout }, async (t) => {
    const { devnet, chain, signer, requirement } = await openMarket(t)
    devnet.fund(signer.address, { microAlgos: 10_000_000n })
    const algos = (amount: string) => requiring({ ...requirement, asset: '0', amount })
    await assert.rejects(new Buyer({ signer, chains: chain }).pay(algos('1')), (error) =>
      /asset 0 are not allowed/.test(messageOf(error)),
    )
    const elsewhere = [{ asset: 0n, network: Network.mainnet.caip2, maxPerPayment: 10n }]
    await assert.rejects(new Buyer({ signer, chains: chain, assets: elsewhere }).pay(algos('1')), PaymentRefusedError)
    const assets = [{ asset: 0n, maxPerPayment: 1_000_000n, maxTotal: 1_500_000n }]
    const buyer = new Buyer({ signer, chains: chain, assets })
    await assert.rejects(buyer.pay(algos('1000001')), (error) =>
      /1.000001 ALGO is above the limit of 1 ALGO/.test(messageOf(error)),
    )
    await buyer.pay(algos('1000000'))
    await assert.rejects(buyer.pay(algos('500001')), (error) => /above the limit of 1.5 ALGO/.test(messageOf(error)))
    await buyer.pay(algos('500000'))
  })
})

test('the state of a payment', async (t) => {
  await t.test('is open until its last valid round, and expired after it', { timeout }, async (t) => {
    const { devnet, chain, signer, required } = await openMarket(t)
    const buyer = new Buyer({ signer, chains: chain })
    const { transactionId } = (await buyer.pay(required)).payment
    assert.equal(await buyer.lookUp(transactionId), 'open')
    devnet.mine(1_000)
    assert.equal(await buyer.lookUp(transactionId), 'open')
    devnet.mine(10)
    assert.equal(await buyer.lookUp(transactionId), 'expired')
  })

  await t.test('is found in the blocks when nodes no longer find it by id', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = new Buyer({ signer: market.signer, chains: market.chain })
    const { header, payment } = await buyer.pay(market.required)
    await settle(market, header)
    market.devnet.mine(1_500)
    assert.equal((await market.chain.algod.transaction(payment.transactionId)).type, 'unknown')
    assert.equal(await buyer.lookUp(payment.transactionId), 'settled')
  })

  await t.test('is an error if no node responds', { timeout }, async (t) => {
    const { devnet, chain, signer, required } = await openMarket(t)
    const buyer = new Buyer({ signer, chains: chain })
    const { transactionId } = (await buyer.pay(required)).payment
    await devnet.stop()
    await assert.rejects(buyer.lookUp(transactionId), { name: 'AlgodError' })
    assert.equal(buyer.payments.get(transactionId)?.state, 'open')
    await assert.rejects(buyer.lookUp('unknown'), PaymentLogError)
  })
})

test('a payment without an answer', async (t) => {
  for (const scheme of ['exact', 'upto'] as const) {
    const name = `is not sent again once it cannot be settled, also if nodes have dropped the blocks: ${scheme}`
    await t.test(name, { timeout }, async (t) => {
      const market = await openMarket(t, { historyBlocks: 100 })
      const buyer = new Buyer({ signer: market.signer, chains: market.chain, maxPerPayment: '$0.01' })
      const request = PaidRequest.fixed({ method: 'GET', url, headers: new Headers(), body: undefined })
      const required = requiring({ ...market.requirement, scheme })
      const { payment } = await buyer.pay(required, { request })
      buyer.payments.finish(payment.transactionId, 'unanswered')
      const resume = async (): Promise<string | undefined> => {
        const found = await buyer.resume(request)
        if (found !== undefined) buyer.payments.finish(payment.transactionId, 'unanswered')
        return found?.payment.transactionId
      }
      assert.equal(await resume(), payment.transactionId)
      const later = Date.now() + 2 * 60 * 60 * 1_000
      t.mock.method(Date, 'now', () => later)
      assert.equal(await resume(), payment.transactionId, 'it may still be settled')
      for (let mined = 0; mined < 3_000; mined += 100) market.devnet.mine(100)
      await assert.rejects(buyer.lookUp(payment.transactionId), { code: 'not_found' })
      assert.equal(await resume(), undefined)
      // It may have been settled, and counts.
      assert.deepEqual([buyer.payments.all()[0]?.state, buyer.payments.spent().microDollars], ['open', 10_000n])
    })
  }
})

test('a payment that is not signed', async (t) => {
  await t.test('does not count', { timeout }, async (t) => {
    const { chain, signer, required } = await openMarket(t)
    const failing: Signer.Signer = { ...signer, sign: () => Promise.reject(new Error('no')) }
    const buyer = new Buyer({ signer: failing, chains: chain })
    await assert.rejects(buyer.pay(required), { message: 'no' })
    assert.deepEqual([buyer.payments.all()[0]?.state, buyer.payments.spent().microDollars], ['expired', 0n])
  })

  await t.test('because it was aborted, before or during signing', { timeout }, async (t) => {
    const { chain, signer, required } = await openMarket(t)
    const controller = new AbortController()
    let signatures = 0
    const slow: Signer.Signer = {
      ...signer,
      sign: (bytes) => {
        signatures++
        controller.abort(new Error('enough'))
        return signer.sign(bytes)
      },
    }
    const buyer = new Buyer({ signer: slow, chains: chain })
    for (const count of [1, 1]) {
      await assert.rejects(buyer.pay(required, { signal: controller.signal }), { message: 'enough' })
      assert.equal(signatures, count)
    }
    assert.deepEqual([buyer.payments.all().length, buyer.payments.spent().microDollars], [1, 0n])
  })

  await t.test('because the signer has no address', () => {
    for (const signer of [undefined, {}, { address: 'x' }, { address: undefined }, { sender: 'x' }]) {
      assert.throws(() => new Buyer({ signer: signer as never, chains: [] }), { code: 'invalid_signer_address' })
    }
  })

  await t.test('because there is no chain', () => {
    const signer = Signer.fromSeed(new Uint8Array(32))
    for (const chains of [undefined, [], [undefined]]) {
      assert.throws(() => new Buyer({ signer, chains: chains as never }), { code: 'invalid_option' })
    }
  })
})
