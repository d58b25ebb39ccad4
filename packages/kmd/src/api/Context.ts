/** The state that operations work on, by concern. */
import type { KeptSignatures } from '../activity/KeptSignatures.js'
import type { SignatureLog } from '../activity/SignatureLog.js'
import type { AgentHandles } from '../agents/AgentHandles.js'
import type { AgentPresence } from '../agents/AgentPresence.js'
import type { Agents } from '../agents/Agents.js'
import type { Approvals } from '../agents/approvals/Approvals.js'
import type { WalletTurns } from '../agents/WalletKeys.js'
import type { AuditLog } from '../audit/AuditLog.js'
import type { Sessions } from '../console/Sessions.js'
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
