/** Requests per minute of callers, over all replicas if the store counts them. */
import { PaymentError } from '../PaymentError.js'
import type { SettlementStore } from '../store/Settlements.js'
import type { Caller, Policy } from './Policy.js'

export class CallerLimit {
  readonly #policy: Policy
  readonly #store: Pick<SettlementStore, 'countCaller'>

  constructor(policy: Policy, store: Pick<SettlementStore, 'countCaller'>) {
    this.#policy = policy
    this.#store = store
  }

  /**
   * Refuses a caller that sends too many requests before anything is read or looked up for it. Returns undefined if
   * there is nothing to wait for.
   *
   * @throws PaymentError
   */
  admit(caller: Caller): Promise<void> | undefined {
    const isAdmitted = this.count(caller)
    if (isAdmitted === false) throw tooManyRequests()
    if (isAdmitted === true) return undefined
    return isAdmitted.then((isTrue) => {
      if (!isTrue) throw tooManyRequests()
    })
  }

  /**
   * Counts a request. Returns whether the caller is within its limit. The shared count is queried only if the caller is
   * within the limit of this replica.
   */
  count(caller: Caller): boolean | Promise<boolean> {
    if (!this.#policy.admitCaller(caller)) return false
    const { countCaller } = this.#store
    const name = countCaller === undefined ? undefined : this.#policy.sharedName(caller)
    if (name === undefined) return true
    return countCaller!.call(this.#store, name).then((count) => this.#policy.admitCount(caller, count))
  }
}

function tooManyRequests(): PaymentError {
  return new PaymentError('facilitator_policy_refused', 'too many requests in this minute')
}
