/** Which payments opened a request already: each opens one, on all replicas that share the store. */
export type Claimed =
  /** Nobody has shown it before. */
  | 'new'
  /** It was shown before and nothing was sent for it: the ledger had not decided, or the process ended. */
  | 'again'
  /** A request is being served for it, or was. */
  | 'taken'

/** What may happen to a payment from here on: nothing more, to be shown again, or as if it had never been shown. */
export type ClaimEnd = 'served' | 'open' | 'forgotten'

export type ClaimStore = {
  /** Takes a payment for one request: not `taken` for exactly one of all who try at once. */
  readonly claim: (transactionId: string, lease: ClaimLease) => Promise<Claimed> | Claimed
  /** Ends the serving, if it is still the owner's. */
  readonly finish: (transactionId: string, owner: string, end: ClaimEnd) => Promise<void> | void
  readonly close: () => Promise<void> | void
}

export type ClaimLease = {
  /** A name for this serving, like no other. */
  readonly owner: string
  readonly nowMs: number
  /** A request takes no longer than this: one that was served for longer was left by a process that ended. */
  readonly leaseMs: number
  readonly network: string
  /** Where the network is. Rounds, not clocks, say how long a payment is good. */
  readonly round: bigint
  /** From here on the gate refuses the payment by itself, and the claim can be dropped. */
  readonly forgetRound: bigint
}

type Claim = { owner: string; state: 'serving' | 'open' | 'served'; untilMs: number; forgetRound: bigint }

/** For one process. */
export class MemoryClaims implements ClaimStore {
  /** By network: the rounds of one say nothing about another. */
  readonly #networks = new Map<string, Map<string, Claim>>()

  claim(transactionId: string, { owner, nowMs, leaseMs, network, round, forgetRound }: ClaimLease): Claimed {
    const claims = this.#networks.get(network) ?? new Map<string, Claim>()
    this.#networks.set(network, claims)
    forget(claims, round)
    const known = claims.get(transactionId)
    const isLeft = known?.state === 'serving' && known.untilMs < nowMs
    if (known !== undefined && known.state !== 'open' && !isLeft) return 'taken'
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

  get size(): number {
    return [...this.#networks.values()].reduce((sum, { size }) => sum + size, 0)
  }
}

/** The oldest come first; so looking ends with the first that is still needed. */
function forget(claims: Map<string, Claim>, round: bigint): void {
  for (const [transactionId, { forgetRound }] of claims) {
    if (forgetRound >= round) return
    claims.delete(transactionId)
  }
}
