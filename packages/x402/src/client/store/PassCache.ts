/** The passes of a buyer, which it received for its payments and presents again to the same sellers. */
import { BoundedMap, Json } from '@latchkey/algorand'
import { isPassText, maxPassMinutes, type PassScope } from '@latchkey/x402-wire'

/** A pass, with everything needed to present it. A stored pass is a secret. */
export type StoredPass = {
  /** The origin that issued the pass. The pass is presented to no other origin. */
  readonly origin: string
  /** The seller's identifier of the requests that the pass opens. */
  readonly scope: string
  readonly opens: PassScope
  /** Requests that the pass is known to open, such as `GET /weather`. */
  readonly requests: readonly string[]
  /** The pass as issued. */
  readonly pass: string
  /** The secret of the payment, which proves that the pass belongs to this buyer. */
  readonly secret: string
  /** When the pass expires, in milliseconds since 1970. */
  readonly untilMs: number
  /** How many requests the pass still opens; undefined if requests are not counted. */
  readonly requestsLeft: number | undefined
}

/** Where a buyer keeps its passes. Implemented by `MemoryPassCache` and `FilePassCache` (`@latchkey/x402/file`). */
export type PassCache = {
  /** The passes of an origin that have not expired. */
  readonly all: (origin: string) => readonly StoredPass[]
  /** Stores a pass and replaces an earlier one of the same origin and scope. */
  readonly put: (pass: StoredPass) => void
  /** Removes a pass. */
  readonly remove: (origin: string, scope: string) => void
}

/** Bounded, because sellers choose how many passes they issue. */
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

/** Parses a pass from a file; undefined if the value is not a pass. */
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
