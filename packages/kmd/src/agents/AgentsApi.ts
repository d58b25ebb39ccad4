/** The contract between the API operations and the agents. */
import type { Transaction, UptoTerms } from '@latchkey/algorand'
import type { Limit, Rules } from '@latchkey/kmd-api/rules'
import type { Actor } from '../audit/AuditChain.js'
import type { Agent } from './Agent.js'
import type { Decision } from './Decision.js'

/**
 * A request with an agent's token. The session is checked again before each signature, because the agent may have ended
 * since.
 */
export type AgentSession = {
  readonly agentId: string
  /** Opens the sealed keys. `Agents.release` wipes it at the end of the request. */
  readonly sealingKey: Buffer
  /** The verifier that matched the token. If the agent's verifier differs now, the token was replaced. */
  readonly verifier: Buffer
}

/** The caller's claim about a payment. Never trusted: bounded, and shown as the caller's claim. */
export type Claim = { readonly url?: string | undefined; readonly description?: string | undefined }

/** A limit and its remaining budget. */
export type LimitUse = {
  readonly limit: Limit
  readonly used: bigint
  readonly left: bigint
  /** When more becomes available, in milliseconds since 1970. @default never, or the limit is unused */
  readonly resetsAtMs: number | undefined
}

/** A private key that an agent may use, as stored in its wallet. The caller wipes it. */
export type GrantedKey = { readonly address: string; readonly privateKey: Buffer }

export type NewAgent = {
  readonly name: string
  readonly walletId: string
  readonly keys: readonly GrantedKey[]
  readonly rules: Rules
  readonly expiresAtMs: number | undefined
}

/** An agent with its token, which is shown once. */
export type NewToken = { readonly agent: Agent; readonly token: string }

/** Absent members stay unchanged. `expiresAtMs: undefined` means never. */
export type RulesChange = { readonly rules?: Rules; readonly expiresAtMs?: number | undefined }

/** Every change to an agent is recorded in the audit log in the same transaction, as done by `actor`. */
export type AgentsApi = {
  /**
   * @returns undefined if no agent has the token
   * @throws KmdError `agent_paused`, `agent_suspended`, `agent_ended`
   */
  authenticate(token: string): AgentSession | undefined
  release(session: AgentSession): void
  /** @throws KmdError `agent_ended` */
  get(agentId: string): Agent
  /** Finds an agent by name or id. @throws KmdError `agent_not_found` */
  find(nameOrId: string): Agent
  list(): readonly Agent[]
  /** The token is returned once and not stored. @throws KmdError `agent_name_taken`, `bad_agent`, `too_many_agents` */
  create(agent: NewAgent, actor?: Actor): Promise<NewToken>
  setRules(agentId: string, change: RulesChange, actor?: Actor): Promise<Agent>
  pause(agentId: string, actor?: Actor): Promise<Agent>
  /** Lets a paused or suspended agent sign again. */
  resume(agentId: string, actor?: Actor): Promise<Agent>
  /** Lets a wallet's suspended agents sign again, with the spending counted so far. Paused agents stay paused. */
  confirm(walletId: string, actor?: Actor): Promise<readonly Agent[]>
  /** Replaces the token; the old token stops working. */
  rotate(agentId: string, keys: readonly GrantedKey[], actor?: Actor): Promise<NewToken>
  /** Deletes the sealed keys and ends the agent's handles and approvals. */
  revoke(agentId: string, actor?: Actor): Promise<Agent>
  /** Called when a key or wallet is deleted. Ends the agents that depend on it. */
  keyDeleted(walletId: string, address: string): Promise<void>
  walletDeleted(walletId: string): Promise<void>
  /**
   * Reserves, records, then signs; or throws. `signer` is the key to sign with.
   *
   * @throws KmdError with the code of the refusal and the headers `Latchkey-Refusal` (JSON), `Latchkey-Approval` (id)
   * @throws KmdError `state_not_written`: nothing was signed
   */
  sign(session: AgentSession, transaction: Transaction.Canonical, signer: Uint8Array, claim: Claim): Promise<Uint8Array>
  /**
   * Signs the program of an authorization for a price by usage, which is built here from the terms, and returns the
   * signature. The maximum is reserved and recorded before, as for a payment. The terms must be complete, with the lease
   * derived from them.
   *
   * @throws KmdError as `sign`
   */
  signUpto(session: AgentSession, terms: UptoTerms, signer: Uint8Array, claim: Claim): Promise<Uint8Array>
  /** Reads the agent's spending in pieces. Without this call, `test` and `budget` read it all at once. */
  prepare(agentId: string): Promise<void>
  /** Returns the decision that `sign` would make, without signing. */
  test(agentId: string, transaction: Transaction.Canonical): Decision
  budget(agentId: string): readonly LimitUse[]
}
