/** Records of the audit log: what happened, to what, by whom. No secret is ever in one. */

/** Who did it. */
export type Actor =
  | { readonly type: 'owner' }
  | { readonly type: 'console' }
  | { readonly type: 'agent'; readonly id: string; readonly name: string }
  | { readonly type: 'daemon' }

/**
 * What happened. `event` is a word from this list; `detail` has texts, integers as decimal text, and lists of them. Text that
 * came from strangers is bounded, and in members whose name begins with `claimed`.
 */
export type AuditEvent = {
  readonly event: EventName
  readonly actor: Actor
  readonly wallet?: string | undefined
  readonly address?: string | undefined
  readonly transaction?: string | undefined
  readonly detail?: { readonly [member: string]: string | readonly string[] } | undefined
}

export type EventName =
  | 'transaction_signed'
  | 'program_signed'
  | 'multisig_signed'
  | 'signature_refused'
  | 'reservation_returned'
  | 'wallet_created'
  | 'wallet_unlocked'
  | 'wallet_renamed'
  | 'wallet_deleted'
  | 'wrong_password'
  | 'password_changed'
  | 'master_key_exported'
  | 'key_generated'
  | 'key_imported'
  | 'key_exported'
  | 'key_deleted'
  | 'multisig_imported'
  | 'multisig_exported'
  | 'multisig_deleted'
  | 'token_changed'
  | 'agent_created'
  | 'agent_changed'
  | 'agent_paused'
  | 'agent_resumed'
  | 'agent_rotated'
  | 'agent_ended'
  | 'approval_requested'
  | 'approval_approved'
  | 'approval_denied'
  | 'approval_expired'
  | 'log_anchored'
  | 'records_lost'

/** A record as it is stored. */
export type AuditRecord = AuditEvent & {
  readonly number: number
  readonly atMs: number
  /** The hash of the record before it, in hexadecimal; 64 zeros for the first. */
  readonly previous: string
  readonly hash: string
}

/** The bytes that are hashed and stored: JSON with its members sorted, so that a record has one form. */
export function canonical(event: AuditEvent): string {
  return JSON.stringify(sorted(event))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sorted(member)]),
  )
}
