/** Agents, their rules and budgets, as the client shows them. Amounts are in the smallest unit. */

/**
 * What an agent may still do. The last four are final. `suspended`: the daemon found that its state database was rolled back or
 * damaged, and the owner has to confirm that the agent may sign again.
 */
export type AgentState = 'active' | 'paused' | 'suspended' | 'revoked' | 'expired' | 'key_deleted' | 'wallet_deleted'

/** An agent: a named grant that lets a program sign with keys of one wallet, within rules. */
export type Agent = {
  id: string
  name: string
  walletId: string
  /** Blank if the wallet is gone. */
  walletName: string
  /** The addresses that it may sign for. */
  addresses: string[]
  state: AgentState
  /** Why it is suspended; undefined if it is not. */
  suspendedReason: string | undefined
  createdAtMs: number
  /** Undefined for never. */
  expiresAtMs: number | undefined
  /** Undefined for never. */
  lastUsedAtMs: number | undefined
  /**
   * Whether it was seen to run as the user of the daemon since the start of the daemon. Such a program can read the daemon's
   * files, so that no limit holds.
   */
  isSameUser: boolean
  rules: AgentRules
}

/** The time that a limit covers. Hours, days, weeks and 30 days are rolling. */
export type AgentPeriod = 'payment' | 'hour' | 'day' | 'week' | '30days' | 'total'

/** A limit on an amount of one asset, or on the number of payments, in a period. */
export type AgentLimit = {
  per: AgentPeriod
  /** The genesis hash of its network, in base64. */
  network: string
  /** Counts payments to this address only. @default all payments */
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

/** An application or an asset of one network. */
export type AgentNetworkItem = { network: string; id: bigint }

/** What an agent may sign. What no rule allows is refused. */
export type AgentRules = {
  /** Genesis hashes, in base64. */
  networks: string[]
  /** At least one is of an amount. An asset without a limit cannot be spent. Fees count as Algos. */
  limits: AgentLimit[]
  /** Who may be paid. `deny` takes precedence. */
  payees: { allow: string[] | 'all'; deny: string[] }
  /** The applications that it may call. */
  applications: AgentNetworkItem[]
  /** The assets that it may opt in to. */
  optIns: AgentNetworkItem[]
  /** Assets with six decimals that are shown as dollars, on networks that are not public. */
  dollars: AgentNetworkItem[]
  /** Of one transaction. */
  maxFeeMicroAlgos: bigint
  /** From first to last valid round. */
  maxValidRounds: number
  ask: AgentAsk
}

/** What the owner is asked about. */
export type AgentAsk = {
  /** A payment above one of these needs an approval, even where the limits allow it. */
  above: { network: string; assetId: bigint; amount: bigint }[]
  /** Whether a payment beyond a limit asks instead of being refused. */
  overLimit: boolean
  /** Whether a payee outside of `payees.allow` asks instead of being refused. */
  unknownPayee: boolean
  /** Whether every application call and every opt-in asks. */
  otherTypes: boolean
}

/** Rules for a new agent, or in place of those of an agent. */
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
   * Assets with six decimals that are shown as dollars in limits and refusals; at most one of a network. The public networks
   * have their own.
   *
   * @default none
   */
  dollars?: readonly AgentNetworkItem[] | undefined
  /** @default 10_000n */
  maxFeeMicroAlgos?: bigint | undefined
  /** @default 1_000 */
  maxValidRounds?: number | undefined
  /** @default nothing is asked: what is not allowed is refused */
  ask?: Partial<Readonly<AgentAsk>> | undefined
}

/** A limit with what is left of it. */
export type AgentLimitUse = {
  limit: AgentLimit
  /** The limit in the words of the command line, such as `$5/day`. */
  text: string
  used: bigint
  left: bigint
  /** When more becomes available. Undefined for never, or if all of it is there. */
  resetsAtMs: number | undefined
}

/** Why a signature was refused, for programs; the message of the error says it in words. */
export type AgentRefusal = {
  /** Such as `agent_limit_exceeded`. */
  code: string
  /** The rule in the words of the command line, such as `$5/day`. */
  rule: string
  /** Of `asked` and `left`: `USDC`, `ALGO`, `asset 123`, `payments`. Undefined where the rule has no amount. */
  unit: string | undefined
  asked: bigint | undefined
  left: bigint | undefined
  /** When more is available. */
  resetsAtMs: number | undefined
}

/** What the rules say of a transaction. */
export type AgentDecision = {
  /** `ask` means that the owner would be asked. */
  decision: 'allowed' | 'ask' | 'refused'
  /** The rule that decides, in the words of the command line. */
  rule: string
  refusal: AgentRefusal | undefined
}
