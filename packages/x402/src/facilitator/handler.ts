/** The facilitator over HTTP: from a request to its answer. */
import { BodyError, type RawAnswer, type RawHandler, type RawRequest, type RawResponse } from '@latchkey/http'
import { parsePaymentPayload, parsePaymentRequirements } from '@x402/core/schemas'
import type { PaymentPayload, PaymentRequirements } from '../wire/types.js'
import type { Facilitator } from './Facilitator.js'
import type { Caller } from './Policy.js'

export type AppOptions = { facilitator: Facilitator; onError?: ((error: unknown) => void) | undefined }

const jsonHeaders = ['Content-Type', 'application/json', 'Cache-Control', 'no-store']

export function create({ facilitator, onError = () => {} }: AppOptions): RawHandler {
  const routes = new Map<string, { method: string; handle: (request: RawRequest) => Promise<RawAnswer> }>([
    ['/verify', { method: 'POST', handle: (request) => judge(request, 'verify') }],
    ['/settle', { method: 'POST', handle: (request) => judge(request, 'settle') }],
    ['/supported', { method: 'GET', handle: async () => json(200, facilitator.supported()) }],
    ['/health', { method: 'GET', handle: health }],
    ['/metrics', { method: 'GET', handle: metrics }],
  ])

  async function judge(request: RawRequest, what: 'verify' | 'settle'): Promise<RawAnswer> {
    const caller = callerOf(request)
    // Before the body is read: strangers are not worth the memory.
    if (!facilitator.policy.isKnown(caller)) return json(401, { error: 'an API key is needed here' })
    const { paymentPayload, paymentRequirements } = readBody(await request.body())
    return json(200, await facilitator[what](paymentPayload, paymentRequirements, caller))
  }

  async function health(): Promise<RawAnswer> {
    const fault = await facilitator.health()
    return fault === undefined ? json(200, { status: 'ok' }) : json(503, { status: 'unhealthy', reason: fault })
  }

  async function metrics(): Promise<RawAnswer> {
    return { status: 200, headers: ['Content-Type', 'text/plain'], body: facilitator.metrics.text() }
  }

  return async (request) => {
    const [path] = request.target.split('?')
    const route = routes.get(path!.length > 1 && path!.endsWith('/') ? path!.slice(0, -1) : path!)
    if (route === undefined) return json(404, { error: `not found; there are ${[...routes.keys()].join(', ')}` })
    if (route.method !== request.method) {
      const refused = json(405, { error: `use ${route.method}` })
      return { ...refused, headers: [...refused.headers, 'Allow', route.method] }
    }
    try {
      return await route.handle(request)
    } catch (error) {
      return refusal(error, onError)
    }
  }
}

function refusal(error: unknown, onError: (error: unknown) => void): RawResponse {
  if (error instanceof RequestError) return json(400, { error: error.message })
  if (error instanceof BodyError) {
    return json(error.status, { error: error.message })
  }
  onError(error)
  return json(500, { error: 'the facilitator failed' })
}

type Asked = { paymentPayload: PaymentPayload; paymentRequirements: PaymentRequirements }

function isObject(value: unknown): value is { [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function readBody(body: Buffer): Asked {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'), refusePrototype)
  } catch (error) {
    throw error instanceof RequestError ? error : new RequestError('the body is not JSON')
  }
  const { paymentPayload, paymentRequirements } = (value ?? {}) as { [name: string]: unknown }
  if (paymentPayload === undefined || paymentRequirements === undefined) {
    throw new RequestError('Missing paymentPayload or paymentRequirements')
  }
  // Of another version the form is not known; the facilitator refuses it by its code.
  if (isObject(paymentPayload) && paymentPayload['x402Version'] !== 2 && isObject(paymentRequirements)) {
    return { paymentPayload, paymentRequirements } as unknown as Asked
  }
  const payload = parsePaymentPayload(paymentPayload)
  const requirements = parsePaymentRequirements(paymentRequirements)
  if (!payload.success || !requirements.success) throw new RequestError('not of the form of the protocol')
  return {
    paymentPayload: payload.data as PaymentPayload,
    paymentRequirements: requirements.data as PaymentRequirements,
  }
}

/** A member of that name turns into what an object inherits when the object is copied. */
function refusePrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new RequestError('a member has a name that none may have')
  return value
}

function callerOf(request: RawRequest): Caller {
  const bearer = /^Bearer (.+)$/i.exec(request.header('authorization') ?? '')?.[1]
  return { apiKey: request.header('x-api-key') ?? bearer }
}

function json(status: number, value: unknown): RawResponse {
  return { status, headers: jsonHeaders, body: JSON.stringify(value) }
}

class RequestError extends Error {
  override name = 'RequestError'
}
