/** The contract between the operations of the API and the agents. */
import type { Transaction } from '@latchkey/algorand'
import type { Actor } from '../audit/AuditRecord.js'
import type { Agent, AgentRefusal, Limit, Rules } from './Agent.js'

/** A request with the token of an agent. It is checked again before each signature: the agent may have ended since. */
export type AgentSession = {
  readonly agentId: string
  /** Opens the sealed keys. Wiped by `Agents.release` at the end of the request. */
  readonly sealingKey: Buffer
  /** What the daemon recognised the token by: another one means that the token was replaced. */
  readonly verifier: Buffer
}

/** What the caller says a payment is for. Never trusted: bounded, and shown as the caller's claim. */
export type Claim = { readonly url?: string | undefined; readonly description?: string | undefined }

/** What the rules say of a transaction. */
export type Decision =
  | { readonly type: 'allowed'; readonly rule: string }
  /** `refusals` has every rule that asks, the most important first; `refusal` is that one. */
  | { readonly type: 'ask'; readonly refusal: AgentRefusal; readonly refusals: readonly AgentRefusal[] }
  | { readonly type: 'refused'; readonly refusal: AgentRefusal }

/** A limit with what is left of it. */
export type LimitUse = {
  readonly limit: Limit
  readonly used: bigint
  readonly left: bigint
  /** When more becomes available, in milliseconds since 1970. @default never, or all of it is there */
  readonly resetsAtMs: number | undefined
}

/** A private key that an agent may use, as its wallet has it. The caller wipes it. */
export type GrantedKey = { readonly address: string; readonly privateKey: Buffer }

export type NewAgent = {
  readonly name: string
  readonly walletId: string
  readonly keys: readonly GrantedKey[]
  readonly rules: Rules
  readonly expiresAtMs: number | undefined
}

/** The token of an agent is shown once. */
export type NewToken = { readonly agent: Agent; readonly token: string }

/** What is absent stays as it is; `expiresAtMs: undefined` means never. */
export type RulesChange = { readonly rules?: Rules; readonly expiresAtMs?: number | undefined }

/** Every change of an agent is recorded in the audit log by the call itself, together with the change, as done by `actor`. */
export type AgentsApi = {
  /**
   * @returns undefined for a token that no agent has
   * @throws KmdError `agent_paused`, `agent_suspended`, `agent_ended`
   */
  authenticate(token: string): AgentSession | undefined
  release(session: AgentSession): void
  /** @throws KmdError `agent_ended` */
  get(agentId: string): Agent
  /** By name or id. @throws KmdError `agent_not_found` */
  find(nameOrId: string): Agent
  list(): readonly Agent[]
  /** The token is returned once and not kept. @throws KmdError `agent_name_taken`, `bad_agent`, `too_many_agents` */
  create(agent: NewAgent, actor?: Actor): Promise<NewToken>
  setRules(agentId: string, change: RulesChange, actor?: Actor): Promise<Agent>
  pause(agentId: string, actor?: Actor): Promise<Agent>
  /** Lets a paused or suspended agent sign again. */
  resume(agentId: string, actor?: Actor): Promise<Agent>
  /** Lets the suspended agents of a wallet sign again, with what is counted as spent now. Paused ones stay paused. */
  confirm(walletId: string, actor?: Actor): Promise<readonly Agent[]>
  /** Another token; the old one ends. */
  rotate(agentId: string, keys: readonly GrantedKey[], actor?: Actor): Promise<NewToken>
  /** Deletes the sealed keys. Handles and approvals of the agent end. */
  revoke(agentId: string, actor?: Actor): Promise<Agent>
  /** Called when a key or a wallet is deleted: agents that depend on it end. */
  keyDeleted(walletId: string, address: string): Promise<void>
  walletDeleted(walletId: string): Promise<void>
  /**
   * Reserves, records, then signs; or throws. `signer` is the key to sign with.
   *
   * @throws KmdError with the code of the refusal and the headers `Latchkey-Refusal` (JSON), `Latchkey-Approval` (id)
   * @throws KmdError `state_not_written`: nothing was signed
   */
  sign(session: AgentSession, transaction: Transaction.Canonical, signer: Uint8Array, claim: Claim): Promise<Uint8Array>
  /** What `sign` would do, without doing it. */
  /** Reads what the agent has spent in pieces; without it `test` and `budget` read it at once. */
  prepare(agentId: string): Promise<void>
  test(agentId: string, transaction: Transaction.Canonical): Decision
  budget(agentId: string): readonly LimitUse[]
}
