/** The schema of the daemon's own state, by the parts that own the tables. */
import { agentSchema, suspensionSchema, uptoSchema } from '../agents/agentSchema.js'
import { approvalSchema, approvalValiditySchema } from '../agents/approvals/approvalRow.js'
import { roundSchema } from '../agents/Rounds.js'
import { auditSchema } from '../audit/AuditLog.js'
import type { Migration } from './StateDatabase.js'

export const migrations: readonly Migration[] = [
  [agentSchema, approvalSchema, auditSchema].join('\n'),
  [approvalValiditySchema, roundSchema, suspensionSchema].join('\n'),
  uptoSchema,
]
