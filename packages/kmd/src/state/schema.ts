/** The schema of the daemon's own state, by the parts that own the tables. */
import { auditSchema } from '../audit/AuditLog.js'
import type { Migration } from './StateDatabase.js'

export const migrations: readonly Migration[] = [[auditSchema].join('\n')]
