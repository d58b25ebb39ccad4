/** The setting `audit`: whose signatures are recorded. Everything else that matters is recorded with either. */

/** Those of agents, or also the owner's own. */
export type AuditMode = 'all' | 'agents'

/** Every {@link AuditMode}. */
export const auditModes: readonly AuditMode[] = ['agents', 'all']
