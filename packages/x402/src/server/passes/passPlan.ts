/** Reads the pass options of a route and its gate. */

import { maxPassMinutes, maxPassRequests, type PassScope } from '@latchkey/x402-wire'
import { OptionsError } from '../../errors.js'
import type { PassOptions, Route } from '../gate/GateOptions.js'
import { type GateRequest, pathsOf } from '../routes/GateRequest.js'
import { hasDynamicPrice } from '../routes/PaidRoutes.js'

/** The passes of a route. */
export type PassPlan = {
  readonly opens: PassScope
  readonly minutes: number
  /** Undefined if requests are not counted. */
  readonly requests: number | undefined
  /** The parts of a request, in addition to route and method, that decide whether a pass opens it. */
  readonly parts: (request: GateRequest) => readonly unknown[]
}

const defaultMinutes = 30 * 24 * 60

/**
 * Undefined if the route has no passes.
 *
 * @throws OptionsError for a value that cannot be used
 */
export function passPlan(key: string, route: Route, ofGate: PassOptions | undefined): PassPlan | undefined {
  if (route?.passes === false) return undefined
  const isOfGate = route?.passes === undefined && (ofGate?.minutes ?? ofGate?.requests) !== undefined
  const options = isOfGate ? ofGate : route?.passes
  if (options === undefined) return undefined
  const { minutes, requests } = options
  if (minutes === undefined && requests === undefined) {
    throw new OptionsError(`${key}: passes has neither minutes nor requests`, 'Set one of them, or both.')
  }
  check(key, 'minutes', minutes, (value) => value > 0 && value <= maxPassMinutes, `a number up to ${maxPassMinutes}`)
  const isCount = (value: number): boolean => Number.isInteger(value) && value >= 2 && value <= maxPassRequests
  check(key, 'requests', requests, isCount, 'an integer of at least 2 (the payment itself pays for the first request)')
  const opens = scopeOf(key, route, options)
  return { opens, minutes: minutes ?? defaultMinutes, requests, parts: parts[opens] }
}

const parts: { readonly [opens in PassScope]: PassPlan['parts'] } = {
  route: () => [],
  path: (request) => pathsOf(request).map((path) => path.replace(/\?.*$/s, '')),
  request: (request) => [...pathsOf(request), request.pricedBy],
}

/** A price that a function chooses is for one request, and so is its pass. */
function scopeOf(key: string, route: Route, { scope }: PassOptions): PassScope {
  const isDynamic = hasDynamicPrice(route)
  if (scope !== undefined && scope !== 'route' && scope !== 'path') {
    throw new OptionsError(`${key}: passes.scope cannot be ${JSON.stringify(scope)}`, 'Use "route" or "path".')
  }
  if (isDynamic && scope !== undefined) {
    const hint = 'Leave it out: a price from a function applies to one request, and its pass opens that same request.'
    throw new OptionsError(`${key}: passes.scope cannot be set if a price or a payee is a function`, hint)
  }
  return isDynamic ? 'request' : (scope ?? 'route')
}

function check(key: string, name: string, value: unknown, isValid: (value: number) => boolean, expected: string): void {
  if (value === undefined || (typeof value === 'number' && isValid(value))) return
  throw new OptionsError(`${key}: passes.${name} cannot be ${JSON.stringify(value)}`, `Pass ${expected}.`)
}
