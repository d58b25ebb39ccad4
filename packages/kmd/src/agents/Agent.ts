/**
 * An agent: a named grant that lets one program sign payments with keys of one wallet, within rules. The owner creates
 * it and the daemon enforces it.
 */
import type { Rules } from '@latchkey/kmd-api/rules'

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
