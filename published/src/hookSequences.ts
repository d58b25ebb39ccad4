/** Runs the newest `@x402/core` with recorded hooks: as a seller, a facilitator and a buyer, without a network. */
import { x402Client, x402HTTPClient } from '@x402/core/client'
import { x402Facilitator } from '@x402/core/facilitator'
import { x402HTTPResourceServer, x402ResourceServer } from '@x402/core/server'
import { wrapFetchWithPayment } from '@x402/fetch'

/** Creates the hook of a name, which records its calls and returns the decision of the scenario. */
export type HookOf = (name: string) => (...context: never[]) => unknown

/** The behaviour of everything around the hooks. */
export type HookScenario = {
  readonly flow?: 'authorization' | 'upfront'
  readonly verify?: 'valid' | 'invalid' | 'throws'
  readonly settle?: 'settled' | 'refused'
  readonly handler?: 'succeeds' | 'fails' | 'throws'
  readonly isUnpaid?: boolean
}

export const sellerHooks = [
  'onBeforeVerify',
  'onAfterVerify',
  'onVerifyFailure',
  'onBeforeSettle',
  'onAfterSettle',
  'onSettleFailure',
  'onVerifiedPaymentCanceled',
] as const
export const facilitatorHooks = sellerHooks.slice(0, 6)
export const buyerHooks = [
  'onBeforePaymentCreation',
  'onAfterPaymentCreation',
  'onPaymentCreationFailure',
  'onPaymentResponse',
] as const

const network = 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe'
const accepted = {
  scheme: 'exact',
  network,
  asset: '10458941',
  amount: '10000',
  payTo: 'SELLER',
  maxTimeoutSeconds: 60,
}

type Hooked = { readonly [name: string]: (hook: unknown) => unknown }

function register(target: object, names: readonly string[], hookOf: HookOf): void {
  for (const name of names) (target as Hooked)[name]!(hookOf(name))
}

/** A request to a protected route, from its hooks to the settlement after its handler. */
export async function runSeller(scenario: HookScenario, hookOf: HookOf): Promise<void> {
  const { flow = 'authorization', handler = 'succeeds', isUnpaid = false } = scenario
  const server = new x402ResourceServer(facilitatorClient(scenario) as never)
  server.register(network as never, serverScheme() as never)
  register(server, sellerHooks, hookOf)
  const extra = flow === 'upfront' ? { paymentFlow: flow } : {}
  const accepts = { scheme: 'exact', network, price: '$0.01', payTo: 'SELLER', maxTimeoutSeconds: 60, extra }
  const http = new x402HTTPResourceServer(server, { 'GET /a': { accepts } } as never)
  register(http, ['onProtectedRequest'], hookOf)
  await http.initialize()
  const payload = { x402Version: 2, accepted: { ...accepted, extra }, payload: {} }
  const header = isUnpaid ? undefined : Buffer.from(JSON.stringify(payload)).toString('base64')
  const adapter = {
    getHeader: (name: string) => (/^payment-signature$/i.test(name) ? header : undefined),
    getMethod: () => 'GET',
    getPath: () => '/a',
    getUrl: () => 'http://shop.example/a',
    getAcceptHeader: () => '*/*',
    getUserAgent: () => 'test',
  }
  const request = { adapter, path: '/a', method: 'GET', paymentHeader: header }
  const result = await http.processHTTPRequest(request as never)
  if (result.type !== 'payment-verified') return
  // The steps of the published middlewares.
  if (handler !== 'succeeds') {
    const reason = handler === 'throws' ? 'handler_threw' : 'handler_failed'
    await result.cancellationDispatcher.cancel({ reason })
    return
  }
  const { paymentPayload, paymentRequirements, declaredExtensions, beforeHandlerSettlement } = result
  const context = { request } as never
  await http.processSettlement(
    paymentPayload,
    paymentRequirements,
    declaredExtensions,
    context,
    undefined,
    beforeHandlerSettlement,
  )
}

function facilitatorClient({ verify = 'valid', settle = 'settled' }: HookScenario): object {
  return {
    verify: async () => {
      if (verify === 'throws') throw new Error('no facilitator')
      return verify === 'valid' ? { isValid: true, payer: 'BUYER' } : { isValid: false, invalidReason: 'bad' }
    },
    settle: async () => {
      const success = settle === 'settled'
      return { success, transaction: 'T', network, ...(success ? { payer: 'BUYER' } : { errorReason: 'bad' }) }
    },
    getSupported: async () => ({
      kinds: [{ x402Version: 2, scheme: 'exact', network }],
      extensions: [],
      signers: {},
    }),
  }
}

function serverScheme(): object {
  return {
    scheme: 'exact',
    defaultAssetTransferMethod: 'default',
    paymentFlows: { default: { default: 'authorization', supported: ['authorization', 'upfront'] } },
    parsePrice: async () => ({ asset: accepted.asset, amount: accepted.amount }),
    enhancePaymentRequirements: async (requirements: object) => requirements,
  }
}

/** One verification, or one settlement. */
export async function runFacilitator(
  operation: 'verify' | 'settle',
  { verify = 'valid', settle = 'settled' }: HookScenario,
  hookOf: HookOf,
): Promise<void> {
  const facilitator = new x402Facilitator()
  const scheme = {
    scheme: 'exact',
    caipFamily: 'algorand:*',
    getExtra: () => undefined,
    getSigners: () => [],
    verify: async () => (verify === 'valid' ? { isValid: true } : { isValid: false, invalidReason: 'bad' }),
    settle: async () => ({ success: settle === 'settled', transaction: '', network }),
  }
  facilitator.register(network as never, scheme as never)
  register(facilitator, facilitatorHooks, hookOf)
  const payload = { x402Version: 2, accepted, payload: {} }
  // A refusal of a hook is an error here, and a result in ours.
  await facilitator[operation](payload as never, accepted as never).catch(() => {})
}

/** A request that is paid for. */
export async function runBuyer({ settle = 'settled', verify = 'valid' }: HookScenario, hookOf: HookOf): Promise<void> {
  const client = new x402Client()
  const scheme = {
    scheme: 'exact',
    createPaymentPayload: async () => {
      if (verify === 'throws') throw new Error('no signature')
      return { x402Version: 2, payload: {} }
    },
  }
  client.register(network as never, scheme as never)
  client.setSpendControls(false)
  register(client, buyerHooks, hookOf)
  const required = { x402Version: 2, resource: { url: 'http://shop.example/a' }, accepts: [accepted] }
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')
  const shop = async (request: Request): Promise<Response> => {
    const isPaid = request.headers.has('PAYMENT-SIGNATURE')
    if (!isPaid || settle === 'refused') {
      return new Response(null, { status: 402, headers: { 'PAYMENT-REQUIRED': encode(required) } })
    }
    const receipt = { success: true, transaction: 'T', network }
    return new Response('goods', { headers: { 'PAYMENT-RESPONSE': encode(receipt) } })
  }
  const http = new x402HTTPClient(client)
  register(http, ['onPaymentRequired'], hookOf)
  const pay = wrapFetchWithPayment(shop as typeof fetch, http as never)
  await pay('http://shop.example/a').catch(() => {})
}
