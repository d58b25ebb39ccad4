/**
 * An agent: a named grant that lets one program sign payments with keys of one wallet, within rules. The owner makes it, the
 * daemon enforces it.
 */

/**
 * What an agent may still do. The last four are final. `suspended`: the daemon does not know any more what the agent has spent,
 * and the owner has to confirm that it may sign again.
 */
export type AgentState = 'active' | 'paused' | 'suspended' | 'revoked' | 'expired' | 'key_deleted' | 'wallet_deleted'

/** An agent as the daemon keeps it. No secret is in it. */
export type Agent = {
  /** The 9 bytes in its token, as 12 characters of base64url. */
  readonly id: string
  /** Unique among the agents that have not ended. */
  readonly name: string
  /** The id of the wallet, as the API lists it. */
  readonly walletId: string
  /** The addresses that it may sign for, at least one. */
  readonly addresses: readonly string[]
  readonly state: AgentState
  /** Why it is suspended. @default it is not */
  readonly suspendedReason: string | undefined
  readonly createdAtMs: number
  /** @default never */
  readonly expiresAtMs: number | undefined
  /** Of its last signature. @default none was made */
  readonly lastUsedAtMs: number | undefined
  readonly rules: Rules
}

/** What an agent may sign. What no rule allows is refused. */
export type Rules = {
  /** Genesis hashes in standard base64, at least one. */
  readonly networks: readonly string[]
  /** An asset without a limit cannot be spent. Fees count as Algos. */
  readonly limits: readonly Limit[]
  readonly payees: PayeeRules
  /** Application ids that it may call, and assets that it may opt in to. Each of one network. */
  readonly applications: readonly NetworkItem[]
  readonly optIns: readonly NetworkItem[]
  /** Assets that the owner named as dollars with six decimals, at most one of each network; public networks have theirs. */
  readonly dollars: readonly NetworkItem[]
  /** Of one transaction. A hard rule. */
  readonly maxFeeMicroAlgos: bigint
  /** From first to last valid round. A hard rule. */
  readonly maxValidRounds: number
  readonly ask: AskRules
}

/** An application or an asset of one network. */
export type NetworkItem = { readonly network: string; readonly id: bigint }

/** The time that a limit covers. Hours, days, weeks and 30 days are rolling. */
export type Period = 'payment' | 'hour' | 'day' | 'week' | '30days' | 'total'

/** A limit on an amount of one asset, or on the number of payments, in a period. */
export type Limit = {
  readonly per: Period
  /** The genesis hash of its network, in standard base64. */
  readonly network: string
  /** Counts payments to this address only. @default all payments */
  readonly payee?: string | undefined
} & (
  | { readonly type: 'amount'; readonly assetId: bigint; readonly amount: bigint }
  | { readonly type: 'count'; readonly count: number }
)

/** Who may be paid. */
export type PayeeRules = {
  /** @default every payee that is not denied */
  readonly allow: readonly string[] | undefined
  /** Takes precedence over `allow`, and over an approval. */
  readonly deny: readonly string[]
}

/** What the owner is asked about instead of refusing it. */
export type AskRules = {
  /** A payment above one of these needs an approval, even where the limits allow it. */
  readonly above: readonly { readonly network: string; readonly assetId: bigint; readonly amount: bigint }[]
  /** Whether a payment beyond a limit asks. @default false: it is refused */
  readonly overLimit: boolean
  /** Whether a payee outside `payees.allow` asks. @default false: it is refused */
  readonly unknownPayee: boolean
  /** Whether every call of a granted application, and every opt-in, asks. @default false */
  readonly otherTypes: boolean
}

/** Why a signature was refused: for programs by its members, for people by `message`. */
export type AgentRefusal = {
  readonly code: RefusalCode
  /** The rule in words of the command line, such as `$5/day`, `each $0.50`, `pay-to`, `no close-out`. */
  readonly rule: string
  /** Of `asked` and `left`, which are in its smallest unit: `USDC`, `ALGO`, `asset 123`, `payments`, `rounds`. */
  readonly unit: string | undefined
  /** Undefined where the rule has no amount. */
  readonly asked: bigint | undefined
  readonly left: bigint | undefined
  /** When more is available, in milliseconds since 1970. */
  readonly resetsAtMs: number | undefined
  readonly message: string
}

/** Error codes of the daemon for an agent's request. Hard rules cannot be lifted by an approval. */
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
