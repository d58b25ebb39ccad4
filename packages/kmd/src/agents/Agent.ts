/**
 * An agent: a named grant that lets one program sign payments with keys of one wallet, within rules. The owner creates
 * it and the daemon enforces it.
 */

/**
 * An agent's state. The last four states are final. `suspended` means that the daemon no longer knows how much the
 * agent has spent, and the owner must confirm that it may sign again.
 */
export type AgentState = 'active' | 'paused' | 'suspended' | 'revoked' | 'expired' | 'key_deleted' | 'wallet_deleted'

/** An agent as stored by the daemon. Contains no secret. */
export type Agent = {
  /** The 9 id bytes of its token, as 12 characters of base64url. */
  readonly id: string
  /** Unique among agents that have not ended. */
  readonly name: string
  /** The wallet's id, as listed by the API. */
  readonly walletId: string
  /** The addresses that the agent may sign for, at least one. */
  readonly addresses: readonly string[]
  readonly state: AgentState
  /** Why the agent is suspended. @default not suspended */
  readonly suspendedReason: string | undefined
  readonly createdAtMs: number
  /** @default never */
  readonly expiresAtMs: number | undefined
  /** The time of the last signature. @default never signed */
  readonly lastUsedAtMs: number | undefined
  readonly rules: Rules
}

/** The rules of an agent. A transaction that no rule allows is refused. */
export type Rules = {
  /** Genesis hashes in standard base64, at least one. */
  readonly networks: readonly string[]
  /** An asset without a limit cannot be spent. Fees count as Algos. */
  readonly limits: readonly Limit[]
  readonly payees: PayeeRules
  /** Applications that the agent may call, and assets that it may opt in to. Each belongs to one network. */
  readonly applications: readonly NetworkItem[]
  readonly optIns: readonly NetworkItem[]
  /**
   * Assets that the owner declared as dollars with six decimals, at most one per network. Public networks have built-in
   * entries.
   */
  readonly dollars: readonly NetworkItem[]
  /** The maximum fee of one transaction. A hard rule. */
  readonly maxFeeMicroAlgos: bigint
  /** The maximum number of rounds from first to last valid round. A hard rule. */
  readonly maxValidRounds: number
  readonly ask: AskRules
}

/** An application or asset on one network. */
export type NetworkItem = { readonly network: string; readonly id: bigint }

/** The period that a limit covers. Hours, days, weeks and 30 days are rolling windows. */
export type Period = 'payment' | 'hour' | 'day' | 'week' | '30days' | 'total'

/** A limit on the amount of one asset, or on the number of payments, in a period. */
export type Limit = {
  readonly per: Period
  /** The network's genesis hash, in standard base64. */
  readonly network: string
  /** Counts only payments to this address. @default all payments */
  readonly payee?: string | undefined
} & (
  | { readonly type: 'amount'; readonly assetId: bigint; readonly amount: bigint }
  | { readonly type: 'count'; readonly count: number }
)

/** The payees that the agent may pay. */
export type PayeeRules = {
  /** @default every payee that is not denied */
  readonly allow: readonly string[] | undefined
  /** Takes precedence over `allow`, and over an approval. */
  readonly deny: readonly string[]
}

/** The cases that need the owner's approval instead of being refused. */
export type AskRules = {
  /** A payment above one of these amounts needs an approval, even if the limits allow it. */
  readonly above: readonly { readonly network: string; readonly assetId: bigint; readonly amount: bigint }[]
  /** Whether a payment over a limit needs an approval. @default false: it is refused */
  readonly overLimit: boolean
  /** Whether a payee outside `payees.allow` needs an approval. @default false: it is refused */
  readonly unknownPayee: boolean
  /** Whether every call to a granted application, and every opt-in, needs an approval. @default false */
  readonly otherTypes: boolean
}

/** Why a signature was refused: machine-readable members, and a `message` for people. */
export type AgentRefusal = {
  readonly code: RefusalCode
  /** The rule in command-line notation, such as `$5/day`, `each $0.50`, `pay-to`, `no close-out`. */
  readonly rule: string
  /**
   * The unit of `asked` and `left`: `USDC`, `ALGO`, `asset 123`, `payments` or `rounds`. Amounts are in its smallest
   * unit.
   */
  readonly unit: string | undefined
  /** Undefined if the rule has no amount. */
  readonly asked: bigint | undefined
  readonly left: bigint | undefined
  /** When more becomes available, in milliseconds since 1970. */
  readonly resetsAtMs: number | undefined
  readonly message: string
}

/** The daemon's error codes for an agent's request. An approval cannot lift hard rules. */
export type RefusalCode = HardRefusalCode | SoftRefusalCode
export type HardRefusalCode =
  | 'agent_transaction_forbidden'
  | 'agent_network_forbidden'
  | 'agent_fee_too_high'
  | 'agent_validity_too_long'
  | 'agent_payee_denied'
  | 'agent_asset_without_limit'
  | 'agent_approval_denied'
  | 'agent_round_unknown'
export type SoftRefusalCode = 'agent_limit_exceeded' | 'agent_payee_unknown' | 'agent_approval_required'
