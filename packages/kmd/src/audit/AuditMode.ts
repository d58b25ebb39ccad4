/** The setting `audit`: which signatures are recorded. All other important events are recorded in either mode. */

/** Signatures of agents only, or of the owner as well. */
export type AuditMode = 'all' | 'agents'

/** Every {@link AuditMode}. */
export const auditModes: readonly AuditMode[] = ['agents', 'all']
