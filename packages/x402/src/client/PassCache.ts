/** The passes of a buyer: what it was given for its payments, and shows again to the same sellers. */
import { BoundedMap, Json } from '@latchkey/algorand'
import type { PassScope } from '../wire/PaymentPass.js'
import { isPassText, maxPassMinutes } from '../wire/PaymentPass.js'

/** A pass, with everything that is needed to show it. It is a secret. */
export type StoredPass = {
  /** Where it was issued: it is shown nowhere else. */
  readonly origin: string
  /** What it opens, as its seller named it. */
  readonly scope: string
  readonly opens: PassScope
  /** Requests that it is known to open, like `GET /weather`. */
  readonly requests: readonly string[]
  /** As it was issued. */
  readonly pass: string
  /** The secret of the payment, which proves that the pass is this buyer's. */
  readonly secret: string
  /** In milliseconds since 1970. */
  readonly untilMs: number
  /** Undefined if they are not counted. */
  readonly requestsLeft: number | undefined
}

/** Where a buyer keeps its passes. `MemoryPassCache` and `FilePassCache` (`@latchkey/x402/file`) are two. */
export type PassCache = {
  /** The passes of an origin that have not ended. */
  readonly all: (origin: string) => readonly StoredPass[]
  /** Keeps a pass, in place of an earlier one of the same origin and scope. */
  readonly put: (pass: StoredPass) => void
  /** Forgets a pass. */
  readonly remove: (origin: string, scope: string) => void
}

/** Sellers choose how many there are. */
export const maxPasses = 1_000
/** How many requests are remembered for a pass. */
export const maxRequests = 100
const maxRequestLength = 2_048

/** Passes in memory. */
export class MemoryPassCache implements PassCache {
  readonly #passes = new BoundedMap<string, StoredPass>(maxPasses)

  all(origin: string): StoredPass[] {
    for (const [key, { untilMs }] of this.#passes) if (untilMs <= Date.now()) this.#passes.delete(key)
    return [...this.#passes.values()].filter((pass) => pass.origin === origin)
  }

  put(pass: StoredPass): void {
    const key = keyOf(pass.origin, pass.scope)
    this.#passes.delete(key)
    this.#passes.set(key, pass)
  }

  remove(origin: string, scope: string): void {
    this.#passes.delete(keyOf(origin, scope))
  }
}

/** Identifies a pass. */
export function keyOf(origin: string, scope: string): string {
  return `${origin} ${scope}`
}

/** A pass that was read from a file; undefined if it is none. */
export function parseStoredPass(value: unknown): StoredPass | undefined {
  if (!Json.isObject(value)) return undefined
  const { origin, scope, opens, requests, pass, secret, untilMs, requestsLeft } = value
  const isText = (one: unknown): one is string => typeof one === 'string' && one.length <= maxRequestLength
  const isNumber = (one: unknown): boolean => Number.isSafeInteger(one) && (one as number) >= 0
  const isValid =
    isText(origin) &&
    isText(scope) &&
    (opens === 'route' || opens === 'path' || opens === 'request') &&
    Array.isArray(requests) &&
    requests.length <= maxRequests &&
    requests.every(isText) &&
    isText(pass) &&
    isPassText(pass) &&
    isText(secret) &&
    /^[\w-]{43}$/.test(secret) &&
    isNumber(untilMs) &&
    (untilMs as number) <= Date.now() + maxPassMinutes * 60_000 &&
    (requestsLeft === undefined || isNumber(requestsLeft))
  return isValid ? (value as unknown as StoredPass) : undefined
}
