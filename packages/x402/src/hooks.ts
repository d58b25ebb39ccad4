/**
 * Hooks that decide: functions of a seller, a facilitator or a buyer that are called while a request waits. Each call is
 * limited in time. A hook that throws, takes too long or returns an unknown value refuses the request.
 */
import { Json } from '@latchkey/algorand'
import { OptionsError, PartyError } from './errors.js'

/** Refuses a request or a payment. */
export type HookAbort = {
  readonly abort: true
  /** The error code for the other party, such as `blocked`. At most 100 characters are sent. */
  readonly reason: string
  /** An explanation for the other party. At most 500 characters are sent. */
  readonly message?: string | undefined
}

/** A hook, or several that are called in order. The first that decides ends the call. */
export type OneOrMore<Hook> = Hook | readonly Hook[]

/** The result of a hook: a decision, or `undefined`, `null` or `false` to continue as without the hook. */
export type HookResult<Decision> = HookValue<Decision> | Promise<HookValue<Decision>>
type HookValue<Decision> = Decision | undefined | null | false

/** A hook that takes one context. */
type AnyHook = (...context: never[]) => unknown

/** How long a hook may take, in milliseconds. */
export const defaultHookTimeoutMs = 5_000
const maxHookTimeoutMs = 60_000
const maxReasonLength = 100
const maxMessageLength = 500

/** The hooks of one party, by name. */
export class HookCalls<Name extends string> {
  readonly #hooks = new Map<Name, readonly AnyHook[]>()
  readonly #timeoutMs: number
  readonly #onError: (error: unknown) => void

  private constructor(timeoutMs: number, onError: (error: unknown) => void) {
    this.#timeoutMs = timeoutMs
    this.#onError = onError
  }

  /**
   * Returns the hooks among the options; undefined if there are none, so that requests cost nothing more.
   *
   * @throws OptionsError for a hook that is not a function, and for a time limit that cannot be used
   */
  static of<Name extends string>(
    options: { readonly [name in Name]?: unknown } & { readonly hookTimeoutMs?: number | undefined },
    names: readonly Name[],
    onError: (error: unknown) => void,
  ): HookCalls<Name> | undefined {
    const { hookTimeoutMs = defaultHookTimeoutMs } = options
    if (!(hookTimeoutMs >= 1 && hookTimeoutMs <= maxHookTimeoutMs)) {
      throw new OptionsError(`hookTimeoutMs is not between 1 and ${maxHookTimeoutMs}`)
    }
    const calls = new HookCalls<Name>(hookTimeoutMs, onError)
    for (const name of names) {
      const given = options[name]
      const list = (given === undefined ? [] : Array.isArray(given) ? given : [given]) as unknown[]
      if (!list.every((one) => typeof one === 'function')) {
        throw new OptionsError(`${name} is not a function`, 'Pass a function, or a list of functions.')
      }
      if (list.length > 0) calls.#hooks.set(name, list as AnyHook[])
    }
    return calls.#hooks.size === 0 ? undefined : calls
  }

  has(name: Name): boolean {
    return this.#hooks.has(name)
  }

  /**
   * Calls the hooks in order until one decides.
   *
   * @param read parses a decision; undefined for a value that is none
   * @throws HookError for a hook that throws, takes too long or returns a value that is not a decision
   */
  async decide<Decision>(
    name: Name,
    context: readonly unknown[],
    read: (value: unknown) => Decision | undefined,
  ): Promise<Decision | undefined> {
    for (const hook of this.#hooks.get(name) ?? []) {
      const value = await this.#call(name, hook, context)
      // A condition that is not met, as in `isKnown && { grantAccess: true }`, decides nothing.
      if (value === undefined || value === null || value === false) continue
      const decision = read(value)
      if (decision !== undefined) return decision
      throw new HookError('hook_decision_failed', `${name} returned a value that is not a decision`)
    }
    return undefined
  }

  /** Calls hooks that may refuse. */
  abort(name: Name, ...context: readonly unknown[]): Promise<HookAbort | undefined> {
    return this.decide(name, context, abortOf)
  }

  /** Calls hooks that decide nothing. Their errors are reported. Never throws. */
  async tell(name: Name, ...context: readonly unknown[]): Promise<void> {
    for (const hook of this.#hooks.get(name) ?? []) {
      try {
        const value = await this.#call(name, hook, context)
        // Other packages let such a hook replace a failure by a success.
        if (!Json.isObject(value) || value['recovered'] !== true) continue
        throw new HookError('hook_decision_failed', `${name} cannot turn a failure into a success`)
      } catch (error) {
        this.#onError(error)
      }
    }
  }

  async #call(name: Name, hook: AnyHook, context: readonly unknown[]): Promise<unknown> {
    let timer: ReturnType<typeof setTimeout> | undefined
    const timeUp = new Promise<never>((_, reject) => {
      const late = (): void => reject(new Error(`it took longer than ${this.#timeoutMs} ms`))
      timer = setTimeout(late, this.#timeoutMs)
    })
    try {
      return await Promise.race([hook(...(context as never[])), timeUp])
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new HookError('hook_decision_failed', `${name} failed: ${reason}`, { cause })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Parses a decision to refuse. */
export function abortOf(value: unknown): HookAbort | undefined {
  if (!Json.isObject(value) || value['abort'] !== true || 'grantAccess' in value) return undefined
  const { reason, message } = value
  if (typeof reason !== 'string' || reason === '') return undefined
  if (message !== undefined && typeof message !== 'string') return undefined
  return { abort: true, reason: reason.slice(0, maxReasonLength), message: message?.slice(0, maxMessageLength) }
}

/** Copies a value that hooks get, so that they cannot change the original. */
export function frozenCopy<T>(value: T): T {
  return freeze(structuredClone(value))
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  for (const one of Object.values(value)) freeze(one)
  return Object.freeze(value)
}

/**
 * A hook that failed: one that decides, which refused its request; one that is notified, for the last time; or events
 * that were dropped. Passed to `onError`.
 */
export class HookError extends PartyError<'hook_failed' | 'hook_events_dropped' | 'hook_decision_failed'> {
  override name = 'HookError'
}
