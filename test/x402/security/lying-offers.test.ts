/** A seller lies in any member of its offer: the buyer refuses with a code, or pays exactly what was shown. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Address } from '@latchkey/algorand'
import { Buyer, PaymentRefusedError, type PaymentRequired, refusalReasons, Signer } from '@latchkey/x402/client'
import { newAddress, openMarket } from '../support/market.test.helper.js'

const market = await openMarket({ after })
const zero = Address.encode(new Uint8Array(32))
const feePayer = market.devnet.accounts[4]!.address

const honest = {
  scheme: 'exact',
  network: market.chain.caip2,
  amount: '10000',
  asset: '31566704',
  payTo: market.seller,
  maxTimeoutSeconds: 300,
  extra: { feePayer } as unknown,
}

/** Creates a buyer that pays in dollars and in ALGO, and counts its signatures. */
function newBuyer() {
  const own = Signer.fromMnemonic(market.devnet.accounts[0]!.mnemonic)
  let signed = 0
  const signer: typeof own = {
    ...own,
    address: own.address,
    sign: async (...args: Parameters<typeof own.sign>) => {
      signed++
      return own.sign(...args)
    },
  }
  const assets = [{ asset: 0n, maxPerPayment: 1_000_000n }]
  const buyer = new Buyer({ signer, chains: market.chain, assets })
  return { buyer, signed: () => signed }
}

const requiring = (change: object): PaymentRequired =>
  ({ x402Version: 2, resource: { url: 'http://shop.example/x' }, accepts: [{ ...honest, ...change }] }) as never

async function outcome(change: object): Promise<string> {
  const { buyer, signed } = newBuyer()
  try {
    await buyer.pay(requiring(change))
    return 'paid'
  } catch (error) {
    assert.ok(error instanceof PaymentRefusedError, `${JSON.stringify(change)}: ${String(error)}`)
    assert.equal(signed(), 0)
    const { code } = error.reasons[0]!
    assert.ok(code in refusalReasons, code)
    return code
  }
}

test('a list of offers with invalid elements is refused', async () => {
  const { buyer } = newBuyer()
  for (const accepts of [[null], ['x'], [5, []], []]) {
    await assert.rejects(buyer.pay({ ...requiring({}), accepts } as never), PaymentRefusedError)
  }
})

test('the zero address is neither paid nor accepted as fee payer, in any asset', async () => {
  for (const asset of ['0', '31566704']) {
    assert.equal(await outcome({ asset, payTo: zero }), 'invalid_offer')
    assert.equal(await outcome({ asset, extra: { feePayer: zero } }), 'invalid_offer')
  }
})

const strange: readonly unknown[] = [
  ...[undefined, null, true, 0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, [], {}, ['x'], { a: 1 }],
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    '١٢',
    '10000 ',
    '18446744073709551616',
    '9'.repeat(400),
    '\u{0}',
    '\u{202e}x',
  ],
  ...[zero, zero.toLowerCase(), `${zero}A`, newAddress().slice(1), 'exact\u{0}', '__proto__', 'constructor'],
]

for (const member of Object.keys(honest) as (keyof typeof honest)[]) {
  test(`an offer with a strange ${member} is refused with a code, or paid as shown`, async () => {
    for (const value of strange) {
      const shown = `${member}: ${JSON.stringify(value)}`
      const result = await outcome({ [member]: value })
      // With another time limit, no fee payer, or ALGO, which this buyer pays in, it pays what is shown.
      const isTime = member === 'maxTimeoutSeconds' && typeof value === 'number' && value > 0
      const isHarmless = member === 'extra' || isTime || (member === 'asset' && value === '0')
      if (result === 'paid') assert.ok(isHarmless, shown)
    }
  })
}

test('a strange fee payer is refused with a code, or the buyer pays its own fees', async () => {
  for (const value of strange) {
    const result = await outcome({ extra: { feePayer: value } })
    if (result === 'paid') assert.notEqual(value, zero)
  }
  assert.equal(await outcome({ extra: { feePayer: market.devnet.accounts[0]!.address } }), 'paid')
  assert.equal(await outcome({}), 'paid')
  assert.equal(await outcome({ asset: '0' }), 'paid')
})
