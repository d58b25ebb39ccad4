/** Compares the order of our deciding hooks with that of the published `@x402/core`, for every party. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import {
  buyerHooks,
  facilitatorHooks,
  type HookOf,
  type HookScenario,
  newestVersions,
  runBuyer,
  runFacilitator,
  runSeller,
  sellerHooks,
} from '@latchkey/published'
import { Buyer, decodeRequired, payingFetch, Signer } from '@latchkey/x402/client'
import { Facilitator } from '@latchkey/x402/facilitator'
import { type FacilitatorClient, Gate, localFacilitator } from '@latchkey/x402/server'
import { keyOf, network, openTrade, price, type Trade } from './trade.test.helper.js'

/** Records calls of hooks, with their phase and reason. */
function recorder(decisions: { readonly [name: string]: unknown } = {}) {
  const calls: string[] = []
  const hookOf: HookOf =
    (name) =>
    (...context) => {
      const [{ phase, reason, settledPhases, result }] = context as unknown as [Recorded]
      const details = [phase, reason, settledPhases?.join('+'), result?.isValid, result?.success]
      calls.push([name, ...details.filter((one) => one !== undefined && one !== '')].join(' '))
      return decisions[name]
    }
  return { calls, hookOf, of: (names: readonly string[]) => Object.fromEntries(names.map((one) => [one, hookOf(one)])) }
}

type Recorded = {
  phase?: string
  reason?: string
  settledPhases?: readonly string[]
  result?: { isValid?: boolean; success?: boolean }
}

const abort = { abort: true, reason: 'no' }
type Scenarios = { readonly [name: string]: HookScenario & { decisions?: { readonly [hook: string]: unknown } } }

const ofSeller: Scenarios = {
  'no payment': { isUnpaid: true },
  success: {},
  'a refused payment': { verify: 'invalid' },
  'a facilitator that fails': { verify: 'throws' },
  'a settlement that fails': { settle: 'refused' },
  'a handler that fails': { handler: 'fails' },
  'a handler that throws': { handler: 'throws' },
  upfront: { flow: 'upfront' },
  'upfront, a settlement that fails': { flow: 'upfront', settle: 'refused' },
  'upfront, a handler that fails': { flow: 'upfront', handler: 'fails' },
  'free access': { decisions: { onProtectedRequest: { grantAccess: true } } },
  'a refused request': { decisions: { onProtectedRequest: abort } },
  'a refusal before verify': { decisions: { onBeforeVerify: abort } },
  'a refusal after verify': { decisions: { onAfterVerify: abort } },
  'a refusal before settle': { decisions: { onBeforeSettle: abort } },
  'upfront, a refusal before settle': { flow: 'upfront', decisions: { onBeforeSettle: abort } },
}

test('the comparison is with @x402/core 2.27', () => {
  assert.match(String(newestVersions['@x402/core']), /^2\.27\./)
})

test('hooks of a seller run in the published order', async (t) => {
  const trade = await openTrade(t)
  trade.devnet.fund(String(trade.buyer.addr), { microAlgos: 1_000_000n })
  for (const [name, { decisions, ...scenario }] of Object.entries(ofSeller)) {
    await t.test(name, async (t) => {
      const [published, own] = [recorder(decisions), recorder(decisions)]
      await runSeller(scenario, published.hookOf)
      await sellOnce(t, trade, scenario, own)
      assert.deepEqual(own.calls, published.calls)
      assert.ok(own.calls.length > 0)
    })
  }
})

/** The same as `runSeller`, by our gate. */
async function sellOnce(
  t: TestContext,
  { chain, buyer, seller }: Trade,
  scenario: HookScenario,
  { of }: ReturnType<typeof recorder>,
): Promise<void> {
  const { flow, handler = 'succeeds', isUnpaid } = scenario
  const accepts = { network, price, payTo: String(seller.addr), ...(flow === undefined ? {} : { paymentFlow: flow }) }
  const hooks = of([...sellerHooks, 'onProtectedRequest'])
  const facilitators = facilitatorOf(scenario)
  const gate = await Gate.open({
    routes: { 'GET /a': { accepts } },
    chains: chain,
    facilitators,
    onError: () => {},
    ...hooks,
  })
  t.after(() => gate.close())
  const plain = await Gate.open({ routes: { 'GET /a': { accepts } }, chains: chain, facilitators })
  t.after(() => plain.close())
  const priced = await plain.decide(new Request('http://shop.example/a'))
  assert.equal(priced.type, 'response')
  const required = decodeRequired((priced as { response: Response }).response.headers.get('PAYMENT-REQUIRED')!)
  const account = new Buyer({ signer: Signer.fromSecretKey(keyOf(buyer)), chains: chain })
  const headers: { [name: string]: string } = isUnpaid
    ? {}
    : { 'PAYMENT-SIGNATURE': (await account.pay(required)).header }
  const decision = await gate.decide(new Request('http://shop.example/a', { headers }))
  if (decision.type !== 'paid') return
  const { admission } = decision
  if (handler !== 'succeeds') await admission.cancel(handler === 'throws' ? 'handler_threw' : 'handler_failed')
  else await admission.settle({ status: 200, headers: [], body: new Uint8Array() })
}

function facilitatorOf({ verify = 'valid', settle = 'settled' }: HookScenario): FacilitatorClient {
  return {
    name: 'stub',
    isTrusted: true,
    verify: async () => {
      if (verify === 'throws') throw new Error('no facilitator')
      return verify === 'valid' ? { isValid: true } : { isValid: false, invalidReason: 'bad' }
    },
    settle: async () => ({
      success: settle === 'settled',
      ...(settle === 'settled' ? {} : { errorReason: 'bad' }),
      transaction: '',
      network: network as never,
    }),
    supported: () => ({
      kinds: [{ x402Version: 2, scheme: 'exact', network: network as never }],
      extensions: [],
      signers: {},
    }),
  }
}

test('hooks of a facilitator run in the published order', async (t) => {
  const trade = await openTrade(t)
  const { chain, buyer, seller, sponsor } = trade
  const routes = { 'GET /a': { accepts: { network, price, payTo: String(seller.addr) } } }
  for (const operation of ['verify', 'settle'] as const) {
    const before = operation === 'verify' ? 'onBeforeVerify' : 'onBeforeSettle'
    const scenarios: Scenarios = {
      success: {},
      'a refused payment': { verify: 'invalid', settle: 'refused' },
      'a refusal of a hook': { decisions: { [before]: abort } },
    }
    for (const [name, { decisions, ...scenario }] of Object.entries(scenarios)) {
      await t.test(`${operation}: ${name}`, async () => {
        const [published, own] = [recorder(decisions), recorder(decisions)]
        await runFacilitator(operation, scenario, published.hookOf)
        const feePayer = Signer.fromSecretKey(keyOf(sponsor))
        const facilitator = new Facilitator({ chains: [chain], feePayer, ...own.of(facilitatorHooks) })
        const gate = await Gate.open({ routes, chains: chain, facilitators: localFacilitator(facilitator) })
        try {
          const priced = await gate.decide(new Request('http://shop.example/a'))
          const { headers } = (priced as { response: Response }).response
          const account = new Buyer({ signer: Signer.fromSecretKey(keyOf(buyer)), chains: chain })
          const { payload } = await account.pay(decodeRequired(headers.get('PAYMENT-REQUIRED')!))
          const amount = scenario.verify === 'invalid' ? '20000' : payload.accepted.amount
          await facilitator[operation](payload, { ...payload.accepted, amount })
        } finally {
          await gate.close()
          await facilitator.stop()
        }
        assert.deepEqual(own.calls, published.calls)
        assert.ok(own.calls.length > 0)
      })
    }
  }
})

test('hooks of a buyer run in the published order', async (t) => {
  const { devnet, chain, buyer, seller } = await openTrade(t)
  devnet.fund(String(buyer.addr), { microAlgos: 1_000_000n })
  const routes = { 'GET /a': { accepts: { network, price, payTo: String(seller.addr) } } }
  const scenarios: Scenarios = {
    success: {},
    'a seller that refuses': { settle: 'refused' },
    'a signer that fails': { verify: 'throws' },
    'a refusal of a hook': { decisions: { onBeforePaymentCreation: abort } },
  }
  for (const [name, { decisions, ...scenario }] of Object.entries(scenarios)) {
    await t.test(name, async (t) => {
      const [published, own] = [recorder(decisions), recorder({ ...decisions, onPaymentRequired: true })]
      await runBuyer(scenario, published.hookOf)
      const verify = scenario.settle === 'refused' ? 'invalid' : 'valid'
      const gate = await Gate.open({ routes, chains: chain, facilitators: facilitatorOf({ verify }) })
      t.after(() => gate.close())
      const signer = Signer.fromSecretKey(keyOf(buyer))
      const broken = { ...signer, sign: () => Promise.reject(new Error('no signature')) }
      const account = new Buyer({ signer: scenario.verify === 'throws' ? broken : signer, chains: chain })
      const hooks = own.of([...buyerHooks, 'onPaymentRequired'])
      const pay = payingFetch(account, { fetch: (input) => answerOf(gate, input as Request), ...hooks })
      await pay('http://shop.example/a').catch(() => {})
      assert.deepEqual(own.calls, published.calls)
      assert.ok(own.calls.length > 0)
    })
  }
})

async function answerOf(gate: Gate, request: Request): Promise<Response> {
  const decision = await gate.decide(request)
  if (decision.type === 'response') return decision.response
  if (decision.type === 'free') return new Response('free')
  const result = await decision.admission.settle({ status: 200, headers: [], body: new Uint8Array() })
  if ('response' in result) return result.response
  return new Response('goods', { headers: result.headers as [string, string][] })
}
