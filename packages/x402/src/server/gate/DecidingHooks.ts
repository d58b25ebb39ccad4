/**
 * The hooks of a gate that decide, with the names, the order and the contexts of `@x402/core`. They can grant free
 * access where a route is protected, and refuse anywhere before a payment is settled. They can change nothing else.
 */
import { Json } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@latchkey/x402-wire'
import { abortOf, type HookAbort, HookCalls, type HookResult, type OneOrMore } from '../../hooks.js'
import type { Payment } from '../exchange/Payment.js'
import type { GateRequest } from '../routes/GateRequest.js'

/** The request that a hook decides on. Its body cannot be read, because the handler needs it. */
export type HookRequest = {
  readonly method: string
  /** The path as the client sent it, without its query. */
  readonly path: string
  /** The key of the route, such as `GET /weather`. */
  readonly routePattern: string
  /**
   * The IP address of the connection, if the adapter knows it. Behind a proxy, this is the address of the proxy; read a
   * header that the proxy sets instead.
   */
  readonly clientAddress: string | undefined
  /** Reads the parts of the request. */
  readonly adapter: HookRequestReader
}

/** Reads a request in the form of an `HTTPAdapter` of `@x402/core`. */
export type HookRequestReader = {
  readonly getHeader: (name: string) => string | undefined
  readonly getMethod: () => string
  readonly getPath: () => string
  readonly getUrl: () => string
  readonly getAcceptHeader: () => string
  readonly getUserAgent: () => string
  /** The first value of a query parameter. */
  readonly getQueryParam: (name: string) => string | undefined
}

/** Lets a request through without a payment. */
export type GrantAccess = { readonly grantAccess: true }

/** The payment that a hook decides on. All members are copies that cannot be changed. */
export type PaymentContext = {
  /** The payment as facilitators get it, without the buyer's secret. */
  readonly paymentPayload: PaymentPayload
  /** The price that is paid. */
  readonly requirements: PaymentRequirements
  /** The extensions that the 402 of the route declares. */
  readonly declaredExtensions: { readonly [key: string]: unknown }
  readonly transportContext: { readonly request: HookRequest }
  /** The payer, the amount and the transaction id. The payer is proven when the payment is verified. */
  readonly payment: Payment
}

/** A payment, and the result of its verification. */
export type VerifyResultContext = PaymentContext & { readonly result: VerifyResponse }
/** A payment that could not be verified. */
export type VerifyFailureContext = PaymentContext & { readonly error: unknown }

/** When a payment is settled: before the handler runs, or after it succeeded. */
export type SettlePhase = 'before-handler' | 'after-handler'
/** A payment that is settled. */
export type SettleContext = PaymentContext & { readonly phase: SettlePhase }
/** A payment that was settled. */
export type SettleResultContext = SettleContext & { readonly result: SettleResponse }
/** A payment that was not settled. */
export type SettleFailureContext = SettleContext & { readonly error: unknown }

/**
 * Why a verified payment is not settled: the handler threw, it responded with an error or not in time, or the request
 * was refused after the verification.
 */
export type CancelReason = 'handler_threw' | 'handler_failed' | 'after_verify_aborted'
/** A verified payment that is not settled. */
export type CanceledContext = PaymentContext & {
  readonly phase: 'cancel'
  readonly reason: CancelReason
  /** The phases in which the payment was already settled. */
  readonly settledPhases: readonly SettlePhase[]
}

/**
 * Hooks that decide. A request waits for them, each for at most `hookTimeoutMs`. A hook that throws, takes longer or
 * returns an unknown value refuses the request with 503, and `onError` is called. Hooks do not run for a repeated
 * request whose held answer is sent again.
 */
export type DecidingHooks<Route = unknown> = {
  /**
   * Called with every request to a paid route, before its price is built. Return `{ grantAccess: true }` to run the
   * handler without a payment, or `{ abort: true, reason }` to respond with 403.
   */
  onProtectedRequest?:
    | OneOrMore<(request: HookRequest, route: Route) => HookResult<GrantAccess | HookAbort>>
    | undefined
  /** Called before a payment is verified. Return `{ abort: true, reason }` to refuse the payment with 402. */
  onBeforeVerify?: OneOrMore<(context: PaymentContext) => HookResult<HookAbort>> | undefined
  /**
   * Called when a facilitator has verified a payment, with its result, which may be a refusal. Return
   * `{ abort: true, reason }` to refuse the payment with 402. Not called if the route settles first.
   */
  onAfterVerify?: OneOrMore<(context: VerifyResultContext) => HookResult<HookAbort>> | undefined
  /** Called if a payment could not be verified, because no facilitator responds. */
  onVerifyFailure?: OneOrMore<(context: VerifyFailureContext) => unknown> | undefined
  /** Called before a payment is settled. Return `{ abort: true, reason }` to charge nothing and respond with 402. */
  onBeforeSettle?: OneOrMore<(context: SettleContext) => HookResult<HookAbort>> | undefined
  /** Called when a payment was settled, before its answer is sent. `onSettled` is also called after a restart. */
  onAfterSettle?: OneOrMore<(context: SettleResultContext) => unknown> | undefined
  /** Called if a payment was not settled, or the ledger has not decided yet. */
  onSettleFailure?: OneOrMore<(context: SettleFailureContext) => unknown> | undefined
  /** Called if a verified payment is not settled, because its handler failed or its request was refused. */
  onVerifiedPaymentCanceled?: OneOrMore<(context: CanceledContext) => unknown> | undefined
  /**
   * How long each call of a hook that decides may take, at most 60 seconds.
   *
   * @default 5_000
   */
  hookTimeoutMs?: number | undefined
}

export const decidingHookNames = [
  'onProtectedRequest',
  'onBeforeVerify',
  'onAfterVerify',
  'onVerifyFailure',
  'onBeforeSettle',
  'onAfterSettle',
  'onSettleFailure',
  'onVerifiedPaymentCanceled',
] as const

export type GateHookCalls = HookCalls<(typeof decidingHookNames)[number]>

/** @throws OptionsError for a hook that is not a function */
export function decidingHooks(
  hooks: DecidingHooks<never>,
  onError: (error: unknown) => void,
): GateHookCalls | undefined {
  return HookCalls.of(hooks, decidingHookNames, onError)
}

/**
 * Asks the hooks about a request to a paid route.
 *
 * @throws HookError for a hook that failed
 */
export function protectedRequest(
  calls: GateHookCalls,
  request: HookRequest,
  route: unknown,
): Promise<GrantAccess | HookAbort | undefined> {
  return calls.decide('onProtectedRequest', [request, route], accessOf)
}

/** A value that both grants and refuses is not a decision. */
function accessOf(value: unknown): GrantAccess | HookAbort | undefined {
  if (!Json.isObject(value)) return undefined
  if ('grantAccess' in value) {
    return value['grantAccess'] === true && !('abort' in value) ? { grantAccess: true } : undefined
  }
  return abortOf(value)
}

export function hookRequest(request: GateRequest, key: string): HookRequest {
  const { method, url, clientAddress } = request
  const { headers } = request.request
  const getHeader = (name: string): string | undefined => headers.get(name) ?? undefined
  return {
    method,
    path: url.pathname,
    routePattern: key,
    clientAddress,
    adapter: {
      getHeader,
      getMethod: () => method,
      getPath: () => url.pathname,
      getUrl: () => url.href,
      getAcceptHeader: () => getHeader('Accept') ?? '',
      getUserAgent: () => getHeader('User-Agent') ?? '',
      getQueryParam: (name) => url.searchParams.get(name) ?? undefined,
    },
  }
}
