import assert from 'node:assert/strict'
import test from 'node:test'
import type { PaymentRequirements } from '../wire/types.js'
import { type FacilitatorClient, FacilitatorError } from './FacilitatorClient.js'
import { Facilitators } from './Facilitators.js'
import { address, feePayer, network, newLedger, stubChain, stubFacilitator } from './stubs.test.helper.js'

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

test('the first that serves a network is named, and the next one while it is down', async () => {
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
  // What was made with the first one paying is still the first one's; and it is forgiven once it answers.
  isDown = false
  assert.equal((await all.verify({} as never, requirement(feePayer))).payer, 'first')
  assert.equal(all.kindFor(chain)?.feePayer, feePayer)
})

test('anybody may settle what nobody pays the fees of', async () => {
  const silent = async () => {
    throw new FacilitatorError('facilitator_unavailable', 'silent')
  }
  const all = new Facilitators([named('first', feePayer, { verify: silent }), named('second', second)])
  await all.refresh()
  assert.equal((await all.verify({} as never, requirement())).payer, 'second')
})

test('a trouble of the facilitator`s own is not the buyer`s', async () => {
  const troubled = async () => ({ isValid: false, invalidReason: 'facilitator_node_unavailable' })
  const all = new Facilitators([named('first', feePayer, { verify: troubled }), named('second', second)])
  await all.refresh()
  assert.equal((await all.verify({} as never, requirement())).payer, 'second')
})

test('a network that nobody serves has no kind, and a payment that nobody can settle no answer', async () => {
  const all = new Facilitators([named('first', feePayer)])
  assert.equal(all.kindFor(chain), undefined)
  await all.refresh()
  await assert.rejects(all.settle({} as never, requirement(address())), /no facilitator can settle/)
  assert.throws(() => new Facilitators([]), { code: 'invalid_option' })
})

test('nonsense in /supported is passed over', async () => {
  const kinds = [
    null,
    7,
    'x',
    {},
    { scheme: 'exact', x402Version: 2, network: 7 },
    { scheme: 'exact', x402Version: 1, network },
    { scheme: 'exact', x402Version: 2, network, extra: { feePayer: 'nobody' } },
  ]
  const signers = { 'algorand:*': [null, 'nobody', second], x: 'y' }
  const all = new Facilitators([
    named('odd', feePayer, { supported: () => ({ kinds, signers, extensions: [] }) as never }),
  ])
  await all.refresh()
  assert.deepEqual(all.kindFor(chain), { network, feePayer: undefined })
  assert.equal(all.isFeePayer(second), true)
  assert.equal(all.isFeePayer('nobody'), false)
})

test('an address that was named once stays good: buyers were told of it', async (t) => {
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

test('nobody waits for one that is silent while another serves; those who must, wait together', async () => {
  let asked = 0
  let answer = (): void => {}
  const slow = named('slow', second, {
    supported: () => {
      asked++
      return new Promise((resolve) => {
        answer = () => resolve({ kinds: [], extensions: [], signers: {} })
      })
    },
  })
  const both = new Facilitators([slow, named('quick', feePayer)])
  const started = both.ready([chain])
  await both.ready([chain])
  assert.equal(both.kindFor(chain)?.feePayer, feePayer)
  assert.equal(asked, 1)
  answer()
  await started
})
