/** The state that operations work on, by concern, and the sender of a request. */
import type { KeptSignatures } from '../activity/KeptSignatures.js'
import type { SignatureLog } from '../activity/SignatureLog.js'
import type { AgentHandles } from '../agents/AgentHandles.js'
import type { AgentPresence } from '../agents/AgentPresence.js'
import type { WalletTurns } from '../agents/AgentStore.js'
import type { Agents } from '../agents/Agents.js'
import type { AgentSession } from '../agents/AgentsApi.js'
import type { Approvals } from '../agents/approvals/Approvals.js'
import type { Actor } from '../audit/AuditChain.js'
import type { AuditLog } from '../audit/AuditLog.js'
import type { Session, Sessions } from '../console/Sessions.js'
import type { Tickets } from '../console/Tickets.js'
import type { Contacts } from '../contacts/Contacts.js'
import type { Handles } from '../Handles.js'
import type { PasswordThrottle } from '../wallet/PasswordThrottle.js'
import type { PendingBackups } from '../wallet/PendingBackups.js'
import type { Wallets } from '../wallet/Wallets.js'
import type { NodeClient } from './NodeClient.js'

export type WalletContext = { wallets: Wallets; handles: Handles; throttle: PasswordThrottle }

export type ConsoleContext = {
  tickets: Tickets
  sessions: Sessions
  signatureLog: SignatureLog
  keptSignatures: KeptSignatures
}

/** Data entered by the owner about addresses and wallets, each in a separate file. */
export type OwnerContext = { contacts: Contacts; pendingBackups: PendingBackups }

/** Data in the daemon's own database. */
export type StateContext = { audit: AuditLog; agents: Agents; approvals: Approvals }

/** In-memory data about agents. */
export type AgentContext = { agentHandles: AgentHandles; agentPresence: AgentPresence; walletTurns: WalletTurns }

/** Undefined if no Algorand node is configured. */
export type NodeContext = { node: NodeClient | undefined }

export type ProcessContext = {
  startedAtMs: number
  version: string
  lostLogLines: () => number
  command: readonly string[]
}

export type Context = WalletContext &
  ConsoleContext &
  OwnerContext &
  NodeContext &
  StateContext &
  AgentContext &
  ProcessContext

export type AgentCaller = { readonly type: 'agent'; readonly agent: AgentSession }

/** The owner, directly or through the console. */
export type OwnerCaller = { readonly type: 'owner' } | { readonly type: 'session'; readonly session: Session }

/**
 * The sender of a request: the owner with the API token, a page with the token of a console session, or an agent with
 * its own token.
 */
export type Caller = OwnerCaller | AgentCaller

export const owner: OwnerCaller = { type: 'owner' }

/** The actor of a change by the owner, for the audit log. */
export function actorOf({ type }: OwnerCaller): Actor {
  return { type: type === 'session' ? 'console' : 'owner' }
}
