/** The claims of a seller: which payments opened a request already. Each payment opens one. */

/** The result of a claim. */
export type ClaimResult =
  /** The payment is seen for the first time. */
  | 'new'
  /** It was seen before and no response was sent for it: the ledger had not decided, or the process ended. */
  | 'again'
  /** A request is being served for it, or was served. */
  | 'taken'

/**
 * How serving ends: `served` uses the payment up, `open` lets the buyer send it again, `forgotten` is as if it had never
 * been sent.
 */
export type ClaimEnd = 'served' | 'open' | 'forgotten'

/**
 * A store of claims, shared by all replicas of a seller. `MemoryClaims` and `SqliteClaims` (`@latchkey/x402/sqlite`) are
 * two; a store on another database implements this type.
 */
export type ClaimStore = {
  /** Claims a payment for one request, atomically: of concurrent calls exactly one does not get `taken`. */
  readonly claim: (transactionId: string, lease: ClaimLease) => Promise<ClaimResult> | ClaimResult
  /** Ends the claim, if `owner` still holds it. */
  readonly finish: (transactionId: string, owner: string, end: ClaimEnd) => Promise<void> | void
  /** Releases the resources of the store. */
  readonly close: () => Promise<void> | void
}

/** For how long, and by what, a payment is claimed. */
export type ClaimLease = {
  /** A unique id of the request that is served. */
  readonly owner: string
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
  /** No request takes longer than this: an older claim was left by a process that ended. */
  readonly leaseMs: number
  /** The canonical CAIP-2 id. */
  readonly network: string
  /** The current round of the network. Rounds, not clocks, decide how long a payment is valid. */
  readonly round: bigint
  /** After this round the gate refuses the payment without the claim, which can be deleted. */
  readonly forgetRound: bigint
}

type Claim = { owner: string; state: 'serving' | 'open' | 'served'; untilMs: number; forgetRound: bigint }

/** Claims in memory, for a seller of one process. */
export class MemoryClaims implements ClaimStore {
  /** By network: each has its own rounds. */
  readonly #networks = new Map<string, Map<string, Claim>>()

  claim(transactionId: string, { owner, nowMs, leaseMs, network, round, forgetRound }: ClaimLease): ClaimResult {
    const claims = this.#networks.get(network) ?? new Map<string, Claim>()
    this.#networks.set(network, claims)
    forget(claims, round)
    const known = claims.get(transactionId)
    const isAbandoned = known?.state === 'serving' && known.untilMs < nowMs
    if (known !== undefined && known.state !== 'open' && !isAbandoned) return 'taken'
    claims.delete(transactionId)
    claims.set(transactionId, { owner, state: 'serving', untilMs: nowMs + leaseMs, forgetRound })
    return known === undefined ? 'new' : 'again'
  }

  finish(transactionId: string, owner: string, end: ClaimEnd): void {
    for (const claims of this.#networks.values()) {
      const known = claims.get(transactionId)
      if (known?.owner !== owner) continue
      if (end === 'forgotten') claims.delete(transactionId)
      else known.state = end
    }
  }

  close(): void {}

  /** How many claims are held. */
  get size(): number {
    return [...this.#networks.values()].reduce((sum, { size }) => sum + size, 0)
  }
}

/** The oldest claims come first, so the loop ends with the first that is still needed. */
function forget(claims: Map<string, Claim>, round: bigint): void {
  for (const [transactionId, { forgetRound }] of claims) {
    if (forgetRound >= round) return
    claims.delete(transactionId)
  }
}
