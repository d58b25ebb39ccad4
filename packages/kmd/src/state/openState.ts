/** Opens the daemon's own state: its database, the audit log and the agents. Creates no file before the first write. */
import { join } from 'node:path'
import { Agents, type AgentsOptions } from '../agents/Agents.js'
import { agentSchema, suspensionSchema, uptoSchema } from '../agents/agentSchema.js'
import { Approvals, type ApprovalsOptions } from '../agents/approvals/Approvals.js'
import { approvalSchema, approvalValiditySchema } from '../agents/approvals/approvalRow.js'
import { roundSchema } from '../agents/Rounds.js'
import { AuditLog, auditSchema, HeadCopy } from '../audit/AuditLog.js'
import { type Migration, StateDatabase } from './StateDatabase.js'

/** The schema of the state, by the parts that own the tables. */
export const migrations: readonly Migration[] = [
  [agentSchema, approvalSchema, auditSchema].join('\n'),
  [approvalValiditySchema, roundSchema, suspensionSchema].join('\n'),
  uptoSchema,
]

/** The name of the database in a data directory. */
export const fileName = 'latchkey_state.db'

export type State = {
  readonly database: StateDatabase
  readonly audit: AuditLog
  readonly agents: Agents
  readonly approvals: Approvals
  /** Checks whether the database was rolled back or damaged while no daemon was running. */
  readonly check: () => Promise<void>
  readonly close: () => Promise<void>
}

export type OpenStateOptions = {
  directory: string
  /** The wallets that must hold the agents' keys. @default nothing is checked */
  wallets?: AgentsOptions['wallets']
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined
  /** A monotonic clock, in milliseconds. */
  elapsed?: (() => number) | undefined
  /** Called with non-fatal errors: the copy of the log's head, or the expiry of an approval, could not be written. */
  onProblem?: ((error: unknown) => void) | undefined
  /** Called if the audit log was altered. Agents are then suspended. */
  onDamage?: ((reason: string) => void) | undefined
  /** Called for each approval that is requested or decided. */
  onApproval?: ApprovalsOptions['onChange'] | undefined
}

export function openState(options: OpenStateOptions): State {
  const { directory, wallets, now, elapsed, onProblem, onApproval } = options
  const database = new StateDatabase({ file: join(directory, fileName), migrations })
  const audit = new AuditLog({
    database,
    headCopy: new HeadCopy(join(directory, HeadCopy.fileName)),
    ...(now && { now }),
    onDamage: (reason) => {
      // The agents' spending sums are in the same file as the log.
      agents.suspendAll(reason)
      options.onDamage?.(reason)
    },
    ...(onProblem && { onCopyFailure: onProblem }),
  })
  const agents = new Agents({ database, audit, wallets, ...(now && { now }), ...(elapsed && { elapsed }) })
  const approvals = new Approvals({
    database,
    audit,
    ...(now && { now }),
    ...(onApproval && { onChange: onApproval }),
    ...(onProblem && { onFailure: onProblem }),
  })
  agents.useApprovals(approvals)
  const close = async (): Promise<void> => {
    approvals.close()
    await database.close()
    audit.close()
  }
  return { database, audit, agents, approvals, check: () => audit.compare(), close }
}
