/** Agents, their rules and budgets. Amounts are in the smallest unit. */

/**
 * An agent's state. The last four states are final. `suspended` means that the daemon found its state database rolled
 * back or damaged, and the owner must confirm that the agent may sign again.
 */
export type AgentState = 'active' | 'paused' | 'suspended' | 'revoked' | 'expired' | 'key_deleted' | 'wallet_deleted'

/** A named grant that lets a program sign with keys of one wallet, within rules. */
export type Agent = {
  id: string
  name: string
  walletId: string
  /** Blank if the wallet is gone. */
  walletName: string
  /** The addresses that the agent may sign for. */
  addresses: string[]
  state: AgentState
  /** Why the agent is suspended; undefined if it is not. */
  suspendedReason: string | undefined
  createdAtMs: number
  /** Undefined if the agent never expires. */
  expiresAtMs: number | undefined
  /** Undefined if the agent was never used. */
  lastUsedAtMs: number | undefined
  /**
   * Whether the agent ran as the daemon's user since the daemon started. Such a program can read the daemon's files, so
   * its limits are not enforceable.
   */
  isSameUser: boolean
  rules: AgentRules
}

/** The period that a limit covers. Hours, days, weeks and 30 days are rolling windows. */
export type AgentPeriod = 'payment' | 'hour' | 'day' | 'week' | '30days' | 'total'

/** A limit on the amount of one asset, or on the number of payments, in a period. */
export type AgentLimit = {
  per: AgentPeriod
  /** The network's genesis hash, in base64. */
  network: string
  /** Counts only payments to this address. @default all payments */
  payee?: string | undefined
} & (
  | {
      type: 'amount'
      /** 0 for Algos. */
      assetId: bigint
      amount: bigint
    }
  | { type: 'count'; count: number }
)

/** An application or asset on one network. */
export type AgentNetworkItem = { network: string; id: bigint }

/** The rules of an agent. A transaction that no rule allows is refused. */
export type AgentRules = {
  /** Genesis hashes, in base64. */
  networks: string[]
  /** At least one limit must be on an amount. An asset without a limit cannot be spent. Fees count as Algos. */
  limits: AgentLimit[]
  /** The payees that the agent may pay. `deny` takes precedence. */
  payees: { allow: string[] | 'all'; deny: string[] }
  /** The applications that the agent may call. */
  applications: AgentNetworkItem[]
  /** The assets that the agent may opt in to. */
  optIns: AgentNetworkItem[]
  /** Assets with six decimals that are displayed as dollars, on private networks. */
  dollars: AgentNetworkItem[]
  /** The maximum fee of one transaction. */
  maxFeeMicroAlgos: bigint
  /** The maximum number of rounds from first to last valid round. */
  maxValidRounds: number
  ask: AgentAsk
}

/** The cases that need the owner's approval. */
export type AgentAsk = {
  /** A payment above one of these amounts needs an approval, even if the limits allow it. */
  above: { network: string; assetId: bigint; amount: bigint }[]
  /** Whether a payment over a limit needs an approval instead of being refused. */
  overLimit: boolean
  /** Whether a payee outside `payees.allow` needs an approval instead of being refused. */
  unknownPayee: boolean
  /** Whether every application call and every opt-in needs an approval. */
  otherTypes: boolean
}

/** Rules for a new agent, or replacement rules for an existing one. */
export type NewAgentRules = {
  networks: readonly string[]
  limits: readonly AgentLimit[]
  payees: {
    allow: readonly string[] | 'all'
    /** @default none */
    deny?: readonly string[] | undefined
  }
  /** @default none */
  applications?: readonly AgentNetworkItem[] | undefined
  /** @default none */
  optIns?: readonly AgentNetworkItem[] | undefined
  /**
   * Assets with six decimals that are displayed as dollars in limits and refusals, at most one per network. Public
   * networks have built-in entries.
   *
   * @default none
   */
  dollars?: readonly AgentNetworkItem[] | undefined
  /** @default 10_000n */
  maxFeeMicroAlgos?: bigint | undefined
  /** @default 1_000 */
  maxValidRounds?: number | undefined
  /** @default no approvals: anything not allowed is refused */
  ask?: Partial<Readonly<AgentAsk>> | undefined
}

/** A limit and its remaining budget. */
export type AgentLimitUse = {
  limit: AgentLimit
  /** The limit in command-line notation, such as `$5/day`. */
  text: string
  used: bigint
  left: bigint
  /** When more becomes available. Undefined if never, or if the limit is unused. */
  resetsAtMs: number | undefined
}

/** Why a signature was refused, in machine-readable form. The error's message says the same in prose. */
export type AgentRefusal = {
  /** An error code such as `agent_limit_exceeded`. */
  code: string
  /** The rule in command-line notation, such as `$5/day`. */
  rule: string
  /** The unit of `asked` and `left`: `USDC`, `ALGO`, `asset 123` or `payments`. Undefined if the rule has no amount. */
  unit: string | undefined
  asked: bigint | undefined
  left: bigint | undefined
  /** When more becomes available. */
  resetsAtMs: number | undefined
}

/** The decision of the rules about a transaction. */
export type AgentDecision = {
  /** `ask`: the owner would be asked. */
  decision: 'allowed' | 'ask' | 'refused'
  /** The deciding rule, in command-line notation. */
  rule: string
  refusal: AgentRefusal | undefined
}
