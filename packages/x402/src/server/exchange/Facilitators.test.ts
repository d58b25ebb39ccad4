import assert from 'node:assert/strict'
import test from 'node:test'
import { Network } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequirements } from '@latchkey/x402-wire'
import { address, feePayer, network, newLedger, stubChain, stubFacilitator } from '../stubs.test.helper.js'
import { type FacilitatorClient, FacilitatorError } from './FacilitatorClient.js'
import { Facilitators } from './Facilitators.js'

const ledger = newLedger()
const chain = await stubChain(ledger)
const requirement = (payer?: string): PaymentRequirements =>
  ({ network, extra: payer === undefined ? {} : { feePayer: payer } }) as never
const second = address()

function named(name: string, payer: string, changes: Partial<FacilitatorClient> = {}): FacilitatorClient {
  const kinds = [{ x402Version: 2, scheme: 'exact', network: network as never, extra: { feePayer: payer } }]
  const verify = async () => ({ isValid: true, payer: name })
  return stubFacilitator(ledger, {
    name,
    verify,
    supported: () => ({ kinds, extensions: [], signers: {} }),
    ...changes,
  })
}

test('prefers the first facilitator of a network, and the next one while it is down', async () => {
  let isDown = true
  const first = named('first', feePayer, {
    verify: async () => {
      if (isDown) throw new TypeError('broken')
      return { isValid: true, payer: 'first' }
    },
  })
  const all = new Facilitators([first, named('second', second)])
  await all.refresh()
  assert.equal(all.kindFor(chain)?.feePayer, feePayer)
  await assert.rejects(all.verify({} as never, requirement(feePayer)), FacilitatorError)
  assert.equal(all.kindFor(chain)?.feePayer, second)
  // A payment with the first fee payer is still settled by the first one, which is preferred again after it responds.
  isDown = false
  assert.equal((await all.verify({} as never, requirement(feePayer))).payer, 'first')
  assert.equal(all.kindFor(chain)?.feePayer, feePayer)
})

test('a payment without a fee payer is settled by any facilitator', async () => {
  const silent = async () => {
    throw new FacilitatorError('facilitator_unavailable', 'silent')
  }
  const all = new Facilitators([named('first', feePayer, { verify: silent }), named('second', second)])
  await all.refresh()
  assert.equal((await all.verify({} as never, requirement())).payer, 'second')
})

test('a payment without a fee payer is not sent to a facilitator of another network', async () => {
  const foreign = named('foreign', second, {
    verify: async () => ({ isValid: false, invalidReason: 'unsupported_network' }),
    supported: () => ({
      kinds: [{ x402Version: 2, scheme: 'exact', network: Network.mainnet.caip2 as never }],
      extensions: [],
      signers: {},
    }),
  })
  const all = new Facilitators([foreign, named('second', feePayer)])
  await all.refresh()
  assert.equal((await all.verify({} as never, requirement())).payer, 'second')
  const alone = new Facilitators([foreign])
  await alone.refresh()
  await assert.rejects(alone.verify({} as never, requirement()), /no facilitator can settle/)
})

test('does not report a failure of the facilitator to the buyer', async () => {
  const troubled = async () => ({ isValid: false, invalidReason: 'facilitator_node_unavailable' })
  const all = new Facilitators([named('first', feePayer, { verify: troubled }), named('second', second)])
  await all.refresh()
  assert.equal((await all.verify({} as never, requirement())).payer, 'second')
})

test('A15 sends the network id that a facilitator lists, in the requirements and in the payment', async () => {
  const older = Network.fullCaip2(Network.testnet.genesisHash)
  const listing = async (ids: string[], buyerId: string) => {
    const seen: string[] = []
    const see = (payload: PaymentPayload, { network: id }: PaymentRequirements) =>
      seen.push(String(payload.accepted.network), id)
    const client = named('one', feePayer, {
      verify: async (payload, requirements) => {
        see(payload, requirements)
        return { isValid: true, payer: second }
      },
      settle: async (payload, requirements) => {
        see(payload, requirements)
        return { success: true, transaction: 'x', network: requirements.network }
      },
      supported: () => ({
        kinds: ids.map((id) => ({ x402Version: 2, scheme: 'exact', network: id as never, extra: { feePayer } })),
        extensions: [],
        signers: {},
      }),
    })
    const all = new Facilitators([client])
    await all.refresh()
    const required = { ...requirement(feePayer), network: buyerId as never }
    const payload = { x402Version: 2, accepted: required, payload: {} }
    await all.verify(payload as never, required)
    await all.settle(payload as never, required)
    assert.deepEqual([payload.accepted.network, required.network], [buyerId, buyerId], 'a copy is sent')
    return [...new Set(seen)]
  }
  for (const buyerId of [older, network]) {
    assert.deepEqual(await listing([older], buyerId), [older])
    assert.deepEqual(await listing([network], buyerId), [network])
    assert.deepEqual(await listing([older, network], buyerId), [buyerId])
    assert.deepEqual(await listing(['eip155:1', network], buyerId), [network])
  }
})

test('an unserved network has no kind, and its payments fail', async () => {
  const all = new Facilitators([named('first', feePayer)])
  assert.equal(all.kindFor(chain), undefined)
  await all.refresh()
  await assert.rejects(all.settle({} as never, requirement(address())), /no facilitator can settle/)
  assert.throws(() => new Facilitators([]), { code: 'invalid_option' })
})

test('invalid kinds in /supported are skipped', async () => {
  const kinds = [
    null,
    7,
    'x',
    {},
    { scheme: 'exact', x402Version: 2, network: 7 },
    { scheme: 'exact', x402Version: 1, network },
    { scheme: 'exact', x402Version: 2, network, extra: { feePayer: 'invalid' } },
  ]
  const signers = { 'algorand:*': [null, 'invalid', second], x: 'y' }
  const all = new Facilitators([
    named('odd', feePayer, { supported: () => ({ kinds, signers, extensions: [] }) as never }),
  ])
  await all.refresh()
  assert.deepEqual(all.kindFor(chain), { scheme: 'exact', network, feePayer: undefined })
  assert.equal(all.kindFor(chain, 'upto'), undefined)
  assert.equal(all.isFeePayer(second), true)
  assert.equal(all.isFeePayer('invalid'), false)
})

test('accepts a fee payer after it changed', async (t) => {
  const names = [feePayer, second]
  const supported = () => ({
    kinds: [{ x402Version: 2, scheme: 'exact', network: network as never, extra: { feePayer: names.shift()! } }],
    extensions: [],
    signers: {},
  })
  const all = new Facilitators([named('random', feePayer, { supported })])
  await all.refresh()
  const later = performance.now() + 61_000
  t.mock.method(performance, 'now', () => later)
  await all.refresh()
  assert.equal(all.kindFor(chain)?.feePayer, second)
  assert.equal(all.isFeePayer(feePayer), true)
})

test('requests do not wait for a silent facilitator while another serves; others share one wait', async () => {
  let requests = 0
  let respond = (): void => {}
  const slow = named('slow', second, {
    supported: () => {
      requests++
      return new Promise((resolve) => {
        respond = () => resolve({ kinds: [], extensions: [], signers: {} })
      })
    },
  })
  const both = new Facilitators([slow, named('quick', feePayer)])
  const started = both.ready([chain])
  await both.ready([chain])
  assert.equal(both.kindFor(chain)?.feePayer, feePayer)
  assert.equal(requests, 1)
  respond()
  await started
})

test('does not offer a fee account that cannot pay or sign while the facilitator has another one', async () => {
  for (const reason of ['facilitator_fee_account_unfunded', 'facilitator_key_unavailable']) {
    const kind = (payer: string) => ({
      x402Version: 2,
      scheme: 'exact',
      network: network as never,
      extra: { feePayer: payer },
    })
    let lookups = 0
    const supported = () => {
      lookups++
      return { kinds: [kind(feePayer), kind(second)], extensions: [], signers: {} }
    }
    const verify = async (_: PaymentPayload, { extra }: PaymentRequirements) =>
      extra['feePayer'] === feePayer ? { isValid: false, invalidReason: reason } : { isValid: true, payer: 'first' }
    const backup = named('backup', address())
    const all = new Facilitators([named('first', feePayer, { supported, verify }), backup])
    await all.refresh()
    assert.equal(all.kindFor(chain)?.feePayer, feePayer)
    await assert.rejects(all.verify({} as never, requirement(feePayer)), FacilitatorError)
    assert.equal(all.kindFor(chain)?.feePayer, second, 'the other account of the same facilitator')
    assert.equal((await all.verify({} as never, requirement(second))).payer, 'first')
    await all.refresh()
    assert.equal(lookups, 2, 'what it serves is looked up again')
    assert.equal(all.kindFor(chain)?.feePayer, second)
  }
})
