/** Searches, verifies and anchors the audit log. These operations are for the owner. */

import { eventNames } from '../auditEvents.js'
import { define, extraPrefix, ownersAlone } from '../Description.js'
import { ascii, text as textKind, uint } from '../members.js'
import { auditBounds, auditRecord } from './auditSchema.js'

const text = { type: 'string' } as const

const count = { type: 'uint', format: 'int64' } as const

const anchor = {
  type: 'object',
  name: 'AuditAnchor',
  members: [
    { name: 'number', shape: count, about: 'The record that was anchored' },
    { name: 'hash', shape: text },
    { name: 'transaction_id', shape: text },
    { name: 'address', shape: text, about: 'The account that sent it' },
    { name: 'network', shape: text, about: 'The genesis hash, in base64' },
    { name: 'round', shape: count },
    { name: 'recorded_as', shape: count, about: 'The record that contains this anchor' },
  ],
} as const

const filters = [
  {
    name: 'events',
    kind: { type: 'list', of: ascii, max: eventNames.length, tooLong: 'bad_audit_query' },
    about: `Any of ${eventNames.join(', ')}; absent for all`,
  },
  { name: 'actor', kind: textKind, about: 'owner, console, agent or daemon; or the name or id of an agent' },
  { name: 'agent_id', kind: ascii, about: 'Records by or about the agent with this id' },
  { name: 'wallet', kind: ascii, about: 'The id of a wallet, also of a deleted one' },
  { name: 'address', kind: ascii, about: 'The address of a key, or of the account that sends' },
  { name: 'transaction_id', kind: ascii, about: 'The id of a transaction' },
  {
    name: 'text',
    kind: textKind,
    about: `Anywhere in the record, case-insensitive; at most ${auditBounds.mostTextBytes} bytes`,
  },
  { name: 'after_ms', kind: uint, about: 'At this time or later, in milliseconds since 1970' },
  { name: 'before_ms', kind: uint, about: 'Before this time, in milliseconds since 1970; 0 for no bound' },
  { name: 'before_number', kind: uint, about: 'Below this number, newest first; 0 for the newest' },
  { name: 'after_number', kind: uint, about: 'Above this number; with is_oldest_first' },
  { name: 'is_oldest_first', kind: { type: 'bool' }, about: 'From after_number on, instead of newest first' },
  { name: 'count', kind: uint, about: `At most ${auditBounds.mostRecords}; absent for ${auditBounds.defaultRecords}` },
] as const

/** Operations on the audit log. */
export const auditOperations = {
  SearchAudit: define({
    method: 'POST',
    path: `${extraPrefix}/audit/search`,
    about:
      'Lists the audit records that match every given member. A long search ends early: pass continue_from to continue it.',
    request: filters,
    response: [
      { name: 'records', shape: { type: 'list', of: auditRecord } },
      {
        name: 'continue_from',
        shape: count,
        about: 'The next before_number or after_number; 0 if there are no more records',
      },
      { name: 'head_number', shape: count, about: 'The number of the last record; 0 if the log is empty' },
      { name: 'head_hash', shape: text },
    ],
    responseName: 'SearchAuditResponse',
    errors: ['bad_audit_query'],
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
  VerifyAudit: define({
    method: 'POST',
    path: `${extraPrefix}/audit/verify`,
    about: 'Recomputes the hashes of the whole audit log and finds the first record that is altered, missing or moved.',
    request: [],
    response: [
      { name: 'ok', shape: { type: 'bool' } },
      { name: 'records', shape: count, about: 'Number of records verified, from the first' },
      { name: 'head_hash', shape: text, blank: true, about: 'Hash of the last verified record, in hexadecimal' },
      {
        name: 'problem_type',
        shape: text,
        blank: true,
        about:
          'altered, missing, broken_link, truncated, replaced, damage_recorded or unreadable; blank if the log is intact',
      },
      { name: 'problem_number', shape: count, about: 'The affected record; 0 if the whole log is affected' },
      { name: 'problem', shape: text, blank: true, about: 'Description of the problem; blank if the log is intact' },
      { name: 'anchors', shape: { type: 'list', of: anchor }, about: 'Anchors recorded in the log' },
    ],
    responseName: 'VerifyAuditResponse',
    access: { console: 'allowed', agent: ownersAlone },
    audit: 'none',
  }),
  PrepareAnchor: define({
    method: 'POST',
    path: `${extraPrefix}/audit/anchor`,
    about: 'Returns the note of a transaction that anchors the log on chain: number and hash of its last record.',
    request: [],
    response: [
      { name: 'number', shape: count },
      { name: 'hash', shape: text },
      { name: 'note', shape: text, about: 'For the note of a transaction that the owner signs and sends' },
    ],
    responseName: 'PrepareAnchorResponse',
    errors: ['bad_audit_query'],
    access: { console: 'refused', agent: ownersAlone },
    audit: 'none',
  }),
  RecordAnchor: define({
    method: 'POST',
    path: `${extraPrefix}/audit/anchored`,
    once: true,
    about: "Records that an anchor's transaction is in the ledger, where verification on chain looks for it.",
    request: [
      { name: 'note', kind: ascii, about: 'As returned by the preparation' },
      { name: 'transaction_id', kind: ascii, about: 'Of 52 characters' },
      { name: 'address', kind: ascii, about: 'The account that sent it' },
      { name: 'network', kind: ascii, about: 'The genesis hash, in base64' },
      { name: 'round', kind: uint, about: 'The round that confirmed the transaction' },
    ],
    response: [{ name: 'recorded_as', shape: count, about: 'The number of the record' }],
    responseName: 'RecordAnchorResponse',
    errors: ['bad_audit_query', 'bad_transaction_id', 'bad_address', 'state_not_written'],
    access: { console: 'refused', agent: ownersAlone },
    audit: 'own',
  }),
}
