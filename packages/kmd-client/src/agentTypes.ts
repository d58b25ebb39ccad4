/** Agents, their rules and budgets. Amounts are in the smallest unit. */
import type { Limit as AgentLimit, Rules as AgentRules } from '@latchkey/kmd-api/rules'

export type {
  AskRules as AgentAsk,
  Limit as AgentLimit,
  NetworkItem as AgentNetworkItem,
  NewRules as NewAgentRules,
  Period as AgentPeriod,
  Rules as AgentRules,
} from '@latchkey/kmd-api/rules'

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
  /** Blank if the wallet was deleted. */
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
